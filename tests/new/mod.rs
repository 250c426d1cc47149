//! `git sandbox new`: branch, folder, checkout and setup of a sandbox.

mod branch;
mod changes;
mod checkout;
mod crash;
mod donor;
mod donor_settings;
mod entry;
mod faults;
mod folders;
mod include;
mod parallel;
mod pull;
mod refuse;
mod resume;
mod root;
mod setup;
mod stub;
