use pagemill_report::ResultSet;
use pagemill_report::table::{TableStyle, render};
use pagemill_zero_bench::{EXPERIMENTS, Plan};

use super::arguments::BenchArguments;
use crate::failure::Failure;
use crate::output;
use crate::output::TextFormat;

pub fn bench(arguments: &BenchArguments) -> Result<(), Failure> {
    output::check_out(arguments.out.as_deref())?;
    let plan = Plan {
        pages: arguments.pages.get(),
        startup_bytes: (arguments.startup.get() as u64) << 20,
    };
    let wanted = &arguments.experiments;
    for name in wanted {
        if !EXPERIMENTS.iter().any(|(known, _)| known == name) {
            let known: Vec<&str> = EXPERIMENTS.iter().map(|(known, _)| *known).collect();
            return Err(Failure::Usage(format!(
                "no experiment is called {name}: there are {}",
                known.join(", ")
            )));
        }
    }
    for (name, measure) in EXPERIMENTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            eprintln!("measuring {name}");
            let set = measure(&plan).map_err(|error| Failure::Run(error.to_string()))?;
            let out = arguments.out.as_ref().map(|out| out.join(name));
            output::hand_over(out.as_deref(), &set, || show(&set, arguments.format))?;
        }
    }
    Ok(())
}

fn show(set: &ResultSet, format: TextFormat) -> Result<(), Failure> {
    match format {
        TextFormat::Table => output::print_text(&format!(
            "{}\n{}\n",
            set.title,
            render(set, &TableStyle::for_stdout())
        )),
        TextFormat::Json => output::print(|out| pagemill_report::json::write(set, out)),
    }
}
