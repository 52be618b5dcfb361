// SPDX-License-Identifier: GPL-2.0
//! A thread waits for Rust's locks while another one holds them for 20 ms.
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

static NAMES: Mutex<u64> = Mutex::new(0);
static TABLE: RwLock<u64> = RwLock::new(0);

fn hold(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

#[inline(never)]
fn take_names() {
    *NAMES.lock().unwrap() += 1;
}

#[inline(never)]
fn read_table() -> u64 {
    *TABLE.read().unwrap()
}

fn main() {
    let names = NAMES.lock().unwrap();
    let table = TABLE.write().unwrap();
    let other = thread::spawn(|| {
        take_names();
        read_table()
    });
    hold(20);
    drop(names);
    hold(20);
    drop(table);
    other.join().unwrap();
}
