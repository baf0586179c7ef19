{
  const slug = (text) => text.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  const title = document.title.replace(/ – pagemill$/, "");
  const base = slug(title.split("/").pop()) || "pagemill";
  const save = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${base}-${name}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const offer = (after, forms) => {
    const line = document.createElement("p");
    line.className = "take";
    line.append("Download:");
    for (const [form, act] of forms) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = form;
      button.addEventListener("click", act);
      line.append(" ", button);
    }
    after.after(line);
  };
  /* The panels of a figure, one below the other, in the colors of the page: outside of it nothing knows its variables. */
  const drawing = (figure) => {
    const colors = getComputedStyle(document.documentElement);
    const rules = document.querySelector("style").textContent;
    const made = (name) => document.createElementNS(figure.querySelector("svg").namespaceURI, name);
    const style = made("style");
    style.textContent = rules.replace(/var\((--[\w-]+)\)/g, (_, name) => colors.getPropertyValue(name));
    const paper = made("rect");
    const whole = made("svg");
    whole.append(style, paper);
    let [width, height] = [0, 52];
    const heading = (text, y, size) => {
      const line = made("text");
      const ink = colors.getPropertyValue("--ink");
      for (const [name, value] of Object.entries({ x: 8, y, fill: ink, "font-size": size, "font-family": "system-ui, sans-serif" })) line.setAttribute(name, value);
      line.textContent = text;
      whole.append(line);
    };
    heading(figure.querySelector("h3").textContent, 22, 16);
    heading(title, 42, 12);
    for (const image of figure.querySelectorAll(".panels > svg, .always > svg")) {
      const panel = image.cloneNode(true);
      panel.setAttribute("y", height);
      whole.append(panel);
      width = Math.max(width, image.viewBox.baseVal.width);
      height += image.viewBox.baseVal.height;
    }
    for (const [name, value] of Object.entries({ width, height, fill: colors.getPropertyValue("--paper") }))
      paper.setAttribute(name, value);
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
      whole.setAttribute(name, value);
    return { width, height, text: new XMLSerializer().serializeToString(whole) };
  };
  const svg = (figure, name) => save(`${name}.svg`, new Blob([drawing(figure).text], { type: "image/svg+xml" }));
  const png = async (figure, name) => {
    const { width, height, text } = drawing(figure);
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * width, 2 * height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${name}.png`, blob));
  };
  /* What cells hold exactly stands in their titles. */
  const csv = (table, name) => {
    const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const cell = (one) => one.title || (one.textContent.trim() === "–" ? "" : one.textContent.trim());
    const read = [...table.rows].map((row) => [...row.cells].map(cell));
    const turned = table.classList.contains("turned") ? read[0].map((_, column) => read.map((row) => row[column])) : read;
    const lines = turned.map((row) => row.map(quoted).join(","));
    save(`${name}.csv`, new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  };
  [...document.querySelectorAll("figure")].forEach((figure, number) => {
    if (!figure.querySelector("svg")) return;
    const name = `figure-${number + 1}`;
    offer(figure.querySelector("figcaption"), [["SVG", () => svg(figure, name)], ["PNG", () => png(figure, name)]]);
  });
  /* Rows that are not all here would look as if they were. */
  for (const table of document.querySelectorAll(".rows table:not([data-partial])")) {
    const name = slug(table.parentElement.getAttribute("aria-label").replace(/^All /, ""));
    offer(table.parentElement, [["CSV", () => csv(table, name)]]);
  }
}
