//! How an interface finds pages: `[att]`, and what interfaces of today have beside it.

use pagemill_policy::translation::{AttSpec, LargePages, ORGANIZATIONS, TableLayout};
use pagemill_sim::nic::{
    IommuSpec, KeySpec, PagingSpec, RegistrationMode, RegistrationSpec, TablePlace, TableSpec,
};

use super::{bytes, number};
use crate::quantity::{self, one_of, registered};
use crate::sourced::SourcedSection;

/// The section `key`, if the file has it: `Some(None)` where it has not.
pub(super) fn optional<T>(
    root: &mut SourcedSection<'_>,
    key: &str,
    read: impl FnOnce(SourcedSection<'_>) -> Option<T>,
) -> Option<Option<T>> {
    match root.contains(key) {
        true => root.section(key).and_then(read).map(Some),
        false => Some(None),
    }
}

/// Sections that a machine may have, each as [`optional`] gives it.
type Optional = (
    Option<Option<KeySpec>>,
    Option<Option<IommuSpec>>,
    Option<Option<PagingSpec>>,
);

/// `[keys]`, `[iommu]` and `[paging]`.
pub(super) fn read_optional(root: &mut SourcedSection<'_>) -> Optional {
    (
        optional(root, "keys", read_keys),
        optional(root, "iommu", read_iommu),
        optional(root, "paging", read_paging),
    )
}

pub(super) fn read_att(mut att: SourcedSection<'_>) -> Option<(AttSpec, TableSpec)> {
    let places = [
        ("main-memory", TablePlace::MainMemory),
        ("own-memory", TablePlace::OwnMemory),
        ("iommu", TablePlace::Iommu),
    ];
    let page = att.value("page", quantity::page_size);
    let large = read_large(&mut att);
    let entry_bytes = att.value("entry", bytes);
    let group_entries = att.value("group_entries", number);
    let organization = att.value(
        "organization",
        registered("organizations of an ATT cache", &ORGANIZATIONS),
    );
    let cache_bytes = att.value("cache", bytes);
    let ways = att.value("ways", number);
    let prefetch_groups = att.value("prefetch_groups", number);
    let place = att.value("table", one_of("places of a table", &places));
    let lookup_latency = att.value("lookup_latency", quantity::time);
    let fetches_in_flight = att.value("fetches_in_flight", number);
    let spec = AttSpec {
        layout: TableLayout {
            page: page?,
            large: large?,
            entry_bytes: entry_bytes?,
            group_entries: group_entries?,
        },
        organization: organization?,
        cache_bytes: cache_bytes?,
        ways: ways?,
        prefetch_groups: prefetch_groups?,
    };
    let table = TableSpec {
        place: place?,
        lookup_latency: lookup_latency?,
        fetches_in_flight: fetches_in_flight?,
        keys: None,
        iommu: None,
        paging: None,
    };
    Some((spec, table))
}

/// Pages of a second size, where a share of memory has them.
fn read_large(att: &mut SourcedSection<'_>) -> Option<Option<LargePages>> {
    if !att.contains("large_share") && !att.contains("large_page") {
        return Some(None);
    }
    let share_percent = att.value("large_share", number);
    let page = att.value("large_page", quantity::page_size);
    let (share_percent, page) = (share_percent?, page?);
    Some((share_percent > 0).then_some(LargePages {
        page,
        share_percent,
    }))
}

fn read_keys(mut keys: SourcedSection<'_>) -> Option<KeySpec> {
    let entries = keys.value("entries", number);
    let ways = keys.value("ways", number);
    let entry_bytes = keys.value("entry", bytes);
    Some(KeySpec {
        entries: entries?,
        ways: ways?,
        entry_bytes: entry_bytes?,
    })
}

fn read_iommu(mut iommu: SourcedSection<'_>) -> Option<IommuSpec> {
    let entries = iommu.value("entries", number);
    let ways = iommu.value("ways", number);
    let walk_latency = iommu.value("walk_latency", quantity::time);
    let walkers = iommu.value("walkers", number);
    let has_device_tlb = iommu.value("device_tlb", quantity::boolean);
    let request_latency = iommu.value("request_latency", quantity::time);
    Some(IommuSpec {
        entries: entries?,
        ways: ways?,
        walk_latency: walk_latency?,
        walkers: walkers?,
        has_device_tlb: has_device_tlb?,
        request_latency: request_latency?,
    })
}

fn read_paging(mut paging: SourcedSection<'_>) -> Option<PagingSpec> {
    let pages = [("pinned", false), ("on-demand", true)];
    let is_on_demand = paging.value("pages", one_of("ways of pages", &pages));
    let fault_latency = paging.value("fault_latency", quantity::time);
    let page_latency = paging.value("page_latency", quantity::time);
    let fault_pages = paging.value("fault_pages", number);
    let handlers = paging.value("handlers", number);
    let resend_latency = paging.value("resend_latency", quantity::time);
    let resident_bytes = paging.value("resident", quantity::bytes);
    let first_use_faults = paging.value("first_use_faults", quantity::boolean);
    Some(PagingSpec {
        is_on_demand: is_on_demand?,
        fault_latency: fault_latency?,
        page_latency: page_latency?,
        fault_pages: fault_pages?,
        handlers: handlers?,
        resend_latency: resend_latency?,
        resident_bytes: resident_bytes?,
        first_use_faults: first_use_faults?,
    })
}

pub(super) fn read_registration(mut section: SourcedSection<'_>) -> Option<RegistrationSpec> {
    let modes = [
        ("once", RegistrationMode::Once),
        ("each", RegistrationMode::Each),
        ("cached", RegistrationMode::Cached),
    ];
    let mode = section.value("mode", one_of("times of a registration", &modes));
    let register_latency = section.value("register_latency", quantity::time);
    let page_latency = section.value("page_latency", quantity::time);
    let deregister_latency = section.value("deregister_latency", quantity::time);
    let cache_regions = section.value("cache_regions", number);
    let cache_bytes = section.value("cache", quantity::bytes);
    Some(RegistrationSpec {
        mode: mode?,
        register_latency: register_latency?,
        page_latency: page_latency?,
        deregister_latency: deregister_latency?,
        cache_regions: cache_regions?,
        cache_bytes: cache_bytes?,
    })
}
