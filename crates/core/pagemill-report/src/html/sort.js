/* A table of few rows and many columns is turned: a line for each column, so that nothing runs out of the page. */
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], rows = [...table.tBodies[0].rows];
  if (rows.length > 3 || heads.length <= 8) continue;
  const body = document.createElement("tbody");
  heads.forEach((head, column) => {
    const line = body.insertRow(), name = document.createElement("th");
    name.scope = "row";
    name.title = head.title;
    name.append(...head.childNodes);
    line.append(name, ...rows.map((row) => row.cells[column].cloneNode(true)));
  });
  table.replaceChildren(body);
  table.className = "wrap turned";
}
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const numeric = head.classList.contains("n");
    const key = (row) => {
      const cell = row.cells[column];
      const text = cell.title || cell.textContent;
      const number = Number(text);
      return numeric && text !== "" && !Number.isNaN(number) ? number : text;
    };
    const compare = (a, b) => {
      const isNumber = typeof a === "number";
      if (isNumber !== (typeof b === "number")) return isNumber ? -1 : 1;
      return isNumber ? a - b : a.localeCompare(b, "en", { numeric: true });
    };
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => sign * compare(a, b));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
