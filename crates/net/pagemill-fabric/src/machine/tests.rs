use super::*;
use pagemill_nic::{
    DescriptorPath, GpuMemorySpec, IommuSpec, KeySpec, PagingSpec, RegistrationMode,
    RegistrationSpec, TablePlace,
};
use pagemill_policy::translation::LargePages;
use pagemill_types::{PageSize, Picos};

#[test]
fn a_machine_survives_as_text() {
    let mut machine = NicMachine::pni();
    machine.name = "a name = with signs".to_owned();
    machine.engine.descriptors = DescriptorPath::Fetched;
    machine.table.place = TablePlace::OwnMemory;
    assert_eq!(
        read(&write(&machine).expect("text")).expect("a machine"),
        machine
    );
}

#[test]
fn what_interfaces_of_today_have_survives_too() {
    let machine = today();
    assert_eq!(
        read(&write(&machine).expect("text")).expect("a machine"),
        machine
    );
}

/// The interface with every section that a machine may leave out.
fn today() -> NicMachine {
    let mut machine = NicMachine::pni();
    machine.gpu_memory = Some(GpuMemorySpec {
        reads: machine.host.from_memory,
        writes: machine.host.to_memory,
        read_latency: Picos(16),
        bar_bytes: 17,
    });
    machine.att.prefetch_groups = 0;
    machine.att.layout.large = Some(LargePages {
        page: PageSize::MIB_2,
        share_percent: 40,
    });
    machine.table.place = TablePlace::Iommu;
    machine.table.keys = Some(KeySpec {
        entries: 16,
        ways: 4,
        entry_bytes: 64,
    });
    machine.table.iommu = Some(IommuSpec {
        entries: 64,
        ways: 64,
        walk_latency: Picos(1),
        walkers: 2,
        has_device_tlb: true,
        request_latency: Picos(3),
    });
    machine.table.paging = Some(PagingSpec {
        is_on_demand: true,
        fault_latency: Picos(4),
        page_latency: Picos(5),
        fault_pages: 6,
        handlers: 7,
        resend_latency: Picos(8),
        resident_bytes: 9,
        first_use_faults: true,
    });
    machine.messages.window_bytes = Some(15);
    machine.messages.registration = Some(RegistrationSpec {
        mode: RegistrationMode::Cached,
        register_latency: Picos(10),
        page_latency: Picos(11),
        deregister_latency: Picos(12),
        cache_regions: 13,
        cache_bytes: 14,
    });
    machine
}

#[test]
fn every_missing_value_is_named() {
    let machine = today();
    let whole = serde_json::to_value(&machine).expect("plain values");
    for (section, values) in whole.as_object().expect("an object") {
        let keys = values
            .as_object()
            .into_iter()
            .flat_map(|values| values.keys());
        for key in keys {
            let mut text = whole.clone();
            let removed = text[section]
                .as_object_mut()
                .and_then(|values| values.remove(key));
            match read(&text.to_string()) {
                // A section that a machine may leave out.
                Ok(_) => assert!(removed.is_some_and(|value| value.is_object() || value.is_u64())),
                Err(error) => assert!(error.to_string().contains(key), "{error}"),
            }
        }
        let mut text = whole.clone();
        text[section] = "rubbish".into();
        if section != "name" {
            read(&text.to_string()).expect_err(section);
        }
    }
}
