//! The part of the text that says how an interface finds pages. Sections that a machine may leave out begin with one line of their own.

use pagemill_sim::nic::{
    IommuSpec, KeySpec, PagingSpec, RegistrationMode, RegistrationSpec, TablePlace, TableSpec,
};

use super::{MachineTextError, Reader, Writer, wrong};

const PLACES: [(&str, TablePlace); 3] = [
    ("main-memory", TablePlace::MainMemory),
    ("own-memory", TablePlace::OwnMemory),
    ("iommu", TablePlace::Iommu),
];

const MODES: [(&str, RegistrationMode); 3] = [
    ("once", RegistrationMode::Once),
    ("each", RegistrationMode::Each),
    ("cached", RegistrationMode::Cached),
];

pub(super) fn put_table(writer: &mut Writer, table: &TableSpec) {
    let TableSpec {
        place,
        lookup_latency,
        fetches_in_flight,
        keys,
        iommu,
        paging,
    } = table;
    writer.put("table.place", name(&PLACES, *place));
    writer.put("table.lookup_latency", lookup_latency.0);
    writer.put("table.fetches_in_flight", fetches_in_flight);
    if let Some(keys) = keys {
        put_keys(writer, keys);
    }
    if let Some(iommu) = iommu {
        put_iommu(writer, iommu);
    }
    if let Some(paging) = paging {
        put_paging(writer, paging);
    }
}

pub(super) fn table(reader: &Reader<'_>) -> Result<TableSpec, MachineTextError> {
    Ok(TableSpec {
        place: value(&PLACES, reader, "table.place")?,
        lookup_latency: reader.time("table.lookup_latency")?,
        fetches_in_flight: reader.get("table.fetches_in_flight")?,
        keys: optional(reader, "keys.entries", keys)?,
        iommu: optional(reader, "iommu.entries", iommu)?,
        paging: optional(reader, "paging.is_on_demand", paging)?,
    })
}

/// A section whose first line has `key`, if it is there.
fn optional<T>(
    reader: &Reader<'_>,
    key: &str,
    read: impl FnOnce(&Reader<'_>) -> Result<T, MachineTextError>,
) -> Result<Option<T>, MachineTextError> {
    match reader.values.contains_key(key) {
        true => read(reader).map(Some),
        false => Ok(None),
    }
}

fn put_keys(writer: &mut Writer, keys: &KeySpec) {
    let KeySpec {
        entries,
        ways,
        entry_bytes,
    } = keys;
    writer.put("keys.entries", entries);
    writer.put("keys.ways", ways);
    writer.put("keys.entry_bytes", entry_bytes);
}

fn keys(reader: &Reader<'_>) -> Result<KeySpec, MachineTextError> {
    Ok(KeySpec {
        entries: reader.get("keys.entries")?,
        ways: reader.get("keys.ways")?,
        entry_bytes: reader.get("keys.entry_bytes")?,
    })
}

fn put_iommu(writer: &mut Writer, iommu: &IommuSpec) {
    let IommuSpec {
        entries,
        ways,
        walk_latency,
        walkers,
        has_device_tlb,
        request_latency,
    } = iommu;
    writer.put("iommu.entries", entries);
    writer.put("iommu.ways", ways);
    writer.put("iommu.walk_latency", walk_latency.0);
    writer.put("iommu.walkers", walkers);
    writer.put("iommu.has_device_tlb", u8::from(*has_device_tlb));
    writer.put("iommu.request_latency", request_latency.0);
}

fn iommu(reader: &Reader<'_>) -> Result<IommuSpec, MachineTextError> {
    Ok(IommuSpec {
        entries: reader.get("iommu.entries")?,
        ways: reader.get("iommu.ways")?,
        walk_latency: reader.time("iommu.walk_latency")?,
        walkers: reader.get("iommu.walkers")?,
        has_device_tlb: reader.get::<u8>("iommu.has_device_tlb")? != 0,
        request_latency: reader.time("iommu.request_latency")?,
    })
}

fn put_paging(writer: &mut Writer, paging: &PagingSpec) {
    let PagingSpec {
        is_on_demand,
        fault_latency,
        page_latency,
        fault_pages,
        handlers,
        resend_latency,
        resident_bytes,
        first_use_faults,
    } = paging;
    writer.put("paging.is_on_demand", u8::from(*is_on_demand));
    writer.put("paging.fault_latency", fault_latency.0);
    writer.put("paging.page_latency", page_latency.0);
    writer.put("paging.fault_pages", fault_pages);
    writer.put("paging.handlers", handlers);
    writer.put("paging.resend_latency", resend_latency.0);
    writer.put("paging.resident_bytes", resident_bytes);
    writer.put("paging.first_use_faults", u8::from(*first_use_faults));
}

fn paging(reader: &Reader<'_>) -> Result<PagingSpec, MachineTextError> {
    Ok(PagingSpec {
        is_on_demand: reader.get::<u8>("paging.is_on_demand")? != 0,
        fault_latency: reader.time("paging.fault_latency")?,
        page_latency: reader.time("paging.page_latency")?,
        fault_pages: reader.get("paging.fault_pages")?,
        handlers: reader.get("paging.handlers")?,
        resend_latency: reader.time("paging.resend_latency")?,
        resident_bytes: reader.get("paging.resident_bytes")?,
        first_use_faults: reader.get::<u8>("paging.first_use_faults")? != 0,
    })
}

pub(super) fn put_registration(writer: &mut Writer, registration: Option<&RegistrationSpec>) {
    let Some(RegistrationSpec {
        mode,
        register_latency,
        page_latency,
        deregister_latency,
        cache_regions,
        cache_bytes,
    }) = registration
    else {
        return;
    };
    writer.put("registration.mode", name(&MODES, *mode));
    writer.put("registration.register_latency", register_latency.0);
    writer.put("registration.page_latency", page_latency.0);
    writer.put("registration.deregister_latency", deregister_latency.0);
    writer.put("registration.cache_regions", cache_regions);
    writer.put("registration.cache_bytes", cache_bytes);
}

pub(super) fn registration(
    reader: &Reader<'_>,
) -> Result<Option<RegistrationSpec>, MachineTextError> {
    optional(reader, "registration.mode", |reader| {
        Ok(RegistrationSpec {
            mode: value(&MODES, reader, "registration.mode")?,
            register_latency: reader.time("registration.register_latency")?,
            page_latency: reader.time("registration.page_latency")?,
            deregister_latency: reader.time("registration.deregister_latency")?,
            cache_regions: reader.get("registration.cache_regions")?,
            cache_bytes: reader.get("registration.cache_bytes")?,
        })
    })
}

fn name<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    let found = names.iter().find(|(_, named)| *named == value);
    found.map_or("", |(name, _)| name)
}

fn value<T: Copy>(
    names: &[(&str, T)],
    reader: &Reader<'_>,
    key: &str,
) -> Result<T, MachineTextError> {
    let given = reader.text(key)?;
    let found = names.iter().find(|(name, _)| *name == given);
    found.map(|(_, value)| *value).ok_or_else(|| wrong(key))
}
