// SPDX-License-Identifier: GPL-2.0
// System calls in closures, iterators and a caught panic.
use std::collections::BTreeMap;
use std::fs;
use std::panic;

fn sizes(folder: &str) -> BTreeMap<String, u64> {
    fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.ok())
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.metadata().ok()?.len())))
        .collect()
}

fn main() {
    let found = sizes("/etc");
    println!("{}", found.values().sum::<u64>());
    let caught = panic::catch_unwind(|| sizes("/none"));
    println!("{}", caught.is_err());
}
