//! libfabric's binary interface, version 1.17, as far as a provider needs it.
//!
//! Written by hand, so that building takes no headers; `tests/abi.rs` compares every size and offset with the
//! installed headers where there are some. Optional functions are `Option<..>`; those a provider leaves out
//! of the middle of a table point to a function that answers "not supported", because callers do not check them.
#![allow(
    missing_docs,
    non_camel_case_types,
    reason = "names and meanings are libfabric's"
)]

use std::ffi::{c_char, c_int, c_void};

pub const fn version(major: u32, minor: u32) -> u32 {
    (major << 16) | minor
}

pub const FI_MSG: u64 = 1 << 1;
pub const FI_RMA: u64 = 1 << 2;
pub const FI_TAGGED: u64 = 1 << 3;
pub const FI_READ: u64 = 1 << 8;
pub const FI_WRITE: u64 = 1 << 9;
pub const FI_RECV: u64 = 1 << 10;
pub const FI_SEND: u64 = 1 << 11;
pub const FI_REMOTE_READ: u64 = 1 << 12;
pub const FI_REMOTE_WRITE: u64 = 1 << 13;
pub const FI_REMOTE_CQ_DATA: u64 = 1 << 17;
pub const FI_PEEK: u64 = 1 << 19;
pub const FI_COMPLETION: u64 = 1 << 24;
pub const FI_INJECT: u64 = 1 << 25;
pub const FI_LOCAL_COMM: u64 = 1 << 51;
pub const FI_REMOTE_COMM: u64 = 1 << 52;
pub const FI_PROV_ATTR_ONLY: u64 = 1 << 54;
pub const FI_SOURCE: u64 = 1 << 57;
pub const FI_DISCARD: u64 = 1 << 58;
pub const FI_DIRECTED_RECV: u64 = 1 << 59;
pub const FI_CLAIM: u64 = 1 << 59;
pub const FI_SELECTIVE_COMPLETION: u64 = 1 << 59;
pub const FI_CONTEXT: u64 = 1 << 59;

pub const FI_ADDR_UNSPEC: u64 = u64::MAX;

pub const FI_AV_UNSPEC: c_int = 0;
pub const FI_AV_MAP: c_int = 1;
pub const FI_AV_TABLE: c_int = 2;

pub const FI_MR_LOCAL: c_int = 1 << 2;
pub const FI_MR_VIRT_ADDR: c_int = 1 << 4;
pub const FI_MR_ALLOCATED: c_int = 1 << 5;
pub const FI_MR_PROV_KEY: c_int = 1 << 6;
pub const FI_MR_BASIC: c_int = 1 << 0;

pub const FI_PROGRESS_MANUAL: c_int = 2;
pub const FI_PROGRESS_AUTO: c_int = 1;
pub const FI_THREAD_SAFE: c_int = 1;
pub const FI_RM_ENABLED: c_int = 2;
pub const FI_EP_UNSPEC: c_int = 0;
pub const FI_EP_RDM: c_int = 3;
pub const FI_ORDER_SAS: u64 = 1 << 8;

pub const FI_CLASS_FABRIC: usize = 1;
pub const FI_CLASS_DOMAIN: usize = 2;
pub const FI_CLASS_EP: usize = 3;
pub const FI_CLASS_AV: usize = 11;
pub const FI_CLASS_MR: usize = 12;
pub const FI_CLASS_EQ: usize = 13;
pub const FI_CLASS_CQ: usize = 14;
pub const FI_CLASS_CNTR: usize = 15;

pub const FI_ENABLE: c_int = 6;

pub const FI_CQ_FORMAT_UNSPEC: c_int = 0;
pub const FI_CQ_FORMAT_CONTEXT: c_int = 1;
pub const FI_CQ_FORMAT_MSG: c_int = 2;
pub const FI_CQ_FORMAT_DATA: c_int = 3;
pub const FI_CQ_FORMAT_TAGGED: c_int = 4;

/// Error numbers: of the C library where it has one, libfabric's own above 256.
pub mod errno {
    use std::ffi::c_int;

    pub const FI_ENOENT: c_int = libc::ENOENT;
    pub const FI_EAGAIN: c_int = libc::EAGAIN;
    pub const FI_ENOMEM: c_int = libc::ENOMEM;
    pub const FI_EACCES: c_int = libc::EACCES;
    pub const FI_EFAULT: c_int = libc::EFAULT;
    pub const FI_EBUSY: c_int = libc::EBUSY;
    pub const FI_EINVAL: c_int = libc::EINVAL;
    pub const FI_ENODATA: c_int = libc::ENODATA;
    pub const FI_ENOMSG: c_int = libc::ENOMSG;
    pub const FI_ENOSYS: c_int = libc::ENOSYS;
    pub const FI_EMSGSIZE: c_int = libc::EMSGSIZE;
    pub const FI_EOPNOTSUPP: c_int = libc::EOPNOTSUPP;
    pub const FI_EREMOTEIO: c_int = libc::EREMOTEIO;
    pub const FI_ECANCELED: c_int = libc::ECANCELED;
    pub const FI_EKEYREJECTED: c_int = libc::EKEYREJECTED;
    pub const FI_ETOOSMALL: c_int = 257;
    pub const FI_EOPBADSTATE: c_int = 258;
    pub const FI_EAVAIL: c_int = 259;
    pub const FI_ENOCQ: c_int = 263;
    pub const FI_ETRUNC: c_int = 265;
    pub const FI_ENOAV: c_int = 267;
}

macro_rules! c_structs {
    ($($(#[$meta:meta])* pub struct $name:ident { $(pub $field:ident: $type:ty,)* })*) => {
        $($(#[$meta])* #[repr(C)] pub struct $name { $(pub $field: $type,)* })*

        /// Size, and the offset of each field, of every structure: compared with the headers by a test.
        pub fn layouts() -> Vec<(&'static str, usize, Vec<(&'static str, usize)>)> {
            vec![$((
                stringify!($name),
                std::mem::size_of::<$name>(),
                vec![$((stringify!($field), std::mem::offset_of!($name, $field)),)*],
            ),)*]
        }
    };
}

/// A function of a table, by its address: the tables are filled in one place, with the right types.
pub type Function = *const c_void;

c_structs! {
    #[derive(Clone, Copy)]
    pub struct fi_context {
        pub internal: [*mut c_void; 4],
    }

    pub struct fi_provider {
        pub version: u32,
        pub fi_version: u32,
        pub context: fi_context,
        pub name: *const c_char,
        pub getinfo: unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int,
        pub fabric: unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int,
        pub cleanup: unsafe extern "C" fn(),
    }

    pub struct fi_tx_attr {
        pub caps: u64,
        pub mode: u64,
        pub op_flags: u64,
        pub msg_order: u64,
        pub comp_order: u64,
        pub inject_size: usize,
        pub size: usize,
        pub iov_limit: usize,
        pub rma_iov_limit: usize,
        pub tclass: u32,
    }

    pub struct fi_rx_attr {
        pub caps: u64,
        pub mode: u64,
        pub op_flags: u64,
        pub msg_order: u64,
        pub comp_order: u64,
        pub total_buffered_recv: usize,
        pub size: usize,
        pub iov_limit: usize,
    }

    pub struct fi_ep_attr {
        pub r#type: c_int,
        pub protocol: u32,
        pub protocol_version: u32,
        pub max_msg_size: usize,
        pub msg_prefix_size: usize,
        pub max_order_raw_size: usize,
        pub max_order_war_size: usize,
        pub max_order_waw_size: usize,
        pub mem_tag_format: u64,
        pub tx_ctx_cnt: usize,
        pub rx_ctx_cnt: usize,
        pub auth_key_size: usize,
        pub auth_key: *mut u8,
    }

    pub struct fi_domain_attr {
        pub domain: *mut c_void,
        pub name: *mut c_char,
        pub threading: c_int,
        pub control_progress: c_int,
        pub data_progress: c_int,
        pub resource_mgmt: c_int,
        pub av_type: c_int,
        pub mr_mode: c_int,
        pub mr_key_size: usize,
        pub cq_data_size: usize,
        pub cq_cnt: usize,
        pub ep_cnt: usize,
        pub tx_ctx_cnt: usize,
        pub rx_ctx_cnt: usize,
        pub max_ep_tx_ctx: usize,
        pub max_ep_rx_ctx: usize,
        pub max_ep_stx_ctx: usize,
        pub max_ep_srx_ctx: usize,
        pub cntr_cnt: usize,
        pub mr_iov_limit: usize,
        pub caps: u64,
        pub mode: u64,
        pub auth_key: *mut u8,
        pub auth_key_size: usize,
        pub max_err_data: usize,
        pub mr_cnt: usize,
        pub tclass: u32,
    }

    pub struct fi_fabric_attr {
        pub fabric: *mut c_void,
        pub name: *mut c_char,
        pub prov_name: *mut c_char,
        pub prov_version: u32,
        pub api_version: u32,
    }

    pub struct fi_info {
        pub next: *mut fi_info,
        pub caps: u64,
        pub mode: u64,
        pub addr_format: u32,
        pub src_addrlen: usize,
        pub dest_addrlen: usize,
        pub src_addr: *mut c_void,
        pub dest_addr: *mut c_void,
        pub handle: *mut fid,
        pub tx_attr: *mut fi_tx_attr,
        pub rx_attr: *mut fi_rx_attr,
        pub ep_attr: *mut fi_ep_attr,
        pub domain_attr: *mut fi_domain_attr,
        pub fabric_attr: *mut fi_fabric_attr,
        pub nic: *mut c_void,
    }

    pub struct fi_ops {
        pub size: usize,
        pub close: unsafe extern "C" fn(*mut fid) -> c_int,
        pub bind: unsafe extern "C" fn(*mut fid, *mut fid, u64) -> c_int,
        pub control: unsafe extern "C" fn(*mut fid, c_int, *mut c_void) -> c_int,
        pub ops_open: unsafe extern "C" fn(*mut fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int,
        pub tostr: Option<unsafe extern "C" fn(*const fid, *mut c_char, usize) -> c_int>,
        pub ops_set: Option<unsafe extern "C" fn(*mut fid, *const c_char, u64, *mut c_void, *mut c_void) -> c_int>,
    }

    pub struct fid {
        pub fclass: usize,
        pub context: *mut c_void,
        pub ops: *const fi_ops,
    }

    pub struct fi_ops_fabric {
        pub size: usize,
        pub domain: unsafe extern "C" fn(*mut fid_fabric, *mut fi_info, *mut *mut fid_domain, *mut c_void) -> c_int,
        pub passive_ep: Function,
        pub eq_open: unsafe extern "C" fn(*mut fid_fabric, *mut c_void, *mut *mut fid_eq, *mut c_void) -> c_int,
        pub wait_open: Function,
        pub trywait: Function,
        pub domain2: Option<unsafe extern "C" fn(*mut fid_fabric, *mut fi_info, *mut *mut fid_domain, u64, *mut c_void) -> c_int>,
    }

    pub struct fid_fabric {
        pub fid: fid,
        pub ops: *const fi_ops_fabric,
        pub api_version: u32,
    }

    pub struct fi_av_attr {
        pub r#type: c_int,
        pub rx_ctx_bits: c_int,
        pub count: usize,
        pub ep_per_node: usize,
        pub name: *const c_char,
        pub map_addr: *mut c_void,
        pub flags: u64,
    }

    pub struct fi_ops_av {
        pub size: usize,
        pub insert: unsafe extern "C" fn(*mut fid_av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
        pub insertsvc: Function,
        pub insertsym: Function,
        pub remove: unsafe extern "C" fn(*mut fid_av, *mut u64, usize, u64) -> c_int,
        pub lookup: unsafe extern "C" fn(*mut fid_av, u64, *mut c_void, *mut usize) -> c_int,
        pub straddr: unsafe extern "C" fn(*mut fid_av, *const c_void, *mut c_char, *mut usize) -> *const c_char,
        pub av_set: Function,
    }

    pub struct fid_av {
        pub fid: fid,
        pub ops: *const fi_ops_av,
    }

    pub struct fi_mr_attr {
        pub mr_iov: *const libc::iovec,
        pub iov_count: usize,
        pub access: u64,
        pub offset: u64,
        pub requested_key: u64,
        pub context: *mut c_void,
        pub auth_key_size: usize,
        pub auth_key: *mut u8,
        pub iface: c_int,
        pub device: u64,
    }

    pub struct fid_mr {
        pub fid: fid,
        pub mem_desc: *mut c_void,
        pub key: u64,
    }

    pub struct fi_ops_mr {
        pub size: usize,
        pub reg: unsafe extern "C" fn(*mut fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut fid_mr, *mut c_void) -> c_int,
        pub regv: unsafe extern "C" fn(*mut fid, *const libc::iovec, usize, u64, u64, u64, u64, *mut *mut fid_mr, *mut c_void) -> c_int,
        pub regattr: unsafe extern "C" fn(*mut fid, *const fi_mr_attr, u64, *mut *mut fid_mr) -> c_int,
    }

    pub struct fi_ops_domain {
        pub size: usize,
        pub av_open: unsafe extern "C" fn(*mut fid_domain, *mut fi_av_attr, *mut *mut fid_av, *mut c_void) -> c_int,
        pub cq_open: unsafe extern "C" fn(*mut fid_domain, *mut fi_cq_attr, *mut *mut fid_cq, *mut c_void) -> c_int,
        pub endpoint: unsafe extern "C" fn(*mut fid_domain, *mut fi_info, *mut *mut fid_ep, *mut c_void) -> c_int,
        pub scalable_ep: Function,
        pub cntr_open: Function,
        pub poll_open: Function,
        pub stx_ctx: Function,
        pub srx_ctx: Function,
        pub query_atomic: Function,
        pub query_collective: Function,
        pub endpoint2: Option<unsafe extern "C" fn(*mut fid_domain, *mut fi_info, *mut *mut fid_ep, u64, *mut c_void) -> c_int>,
    }

    pub struct fid_domain {
        pub fid: fid,
        pub ops: *const fi_ops_domain,
        pub mr: *const fi_ops_mr,
    }

    pub struct fi_eq_err_entry {
        pub fid: *mut fid,
        pub context: *mut c_void,
        pub data: u64,
        pub err: c_int,
        pub prov_errno: c_int,
        pub err_data: *mut c_void,
        pub err_data_size: usize,
    }

    pub struct fi_ops_eq {
        pub size: usize,
        pub read: unsafe extern "C" fn(*mut fid_eq, *mut u32, *mut c_void, usize, u64) -> isize,
        pub readerr: unsafe extern "C" fn(*mut fid_eq, *mut fi_eq_err_entry, u64) -> isize,
        pub write: Function,
        pub sread: unsafe extern "C" fn(*mut fid_eq, *mut u32, *mut c_void, usize, c_int, u64) -> isize,
        pub strerror: unsafe extern "C" fn(*mut fid_eq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
    }

    pub struct fid_eq {
        pub fid: fid,
        pub ops: *const fi_ops_eq,
    }

    #[derive(Clone, Copy)]
    pub struct fi_cq_tagged_entry {
        pub op_context: *mut c_void,
        pub flags: u64,
        pub len: usize,
        pub buf: *mut c_void,
        pub data: u64,
        pub tag: u64,
    }

    pub struct fi_cq_err_entry {
        pub op_context: *mut c_void,
        pub flags: u64,
        pub len: usize,
        pub buf: *mut c_void,
        pub data: u64,
        pub tag: u64,
        pub olen: usize,
        pub err: c_int,
        pub prov_errno: c_int,
        pub err_data: *mut c_void,
        pub err_data_size: usize,
    }

    pub struct fi_cq_attr {
        pub size: usize,
        pub flags: u64,
        pub format: c_int,
        pub wait_obj: c_int,
        pub signaling_vector: c_int,
        pub wait_cond: c_int,
        pub wait_set: *mut c_void,
    }

    pub struct fi_ops_cq {
        pub size: usize,
        pub read: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize) -> isize,
        pub readfrom: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *mut u64) -> isize,
        pub readerr: unsafe extern "C" fn(*mut fid_cq, *mut fi_cq_err_entry, u64) -> isize,
        pub sread: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *const c_void, c_int) -> isize,
        pub sreadfrom: unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *mut u64, *const c_void, c_int) -> isize,
        pub signal: Function,
        pub strerror: unsafe extern "C" fn(*mut fid_cq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
    }

    pub struct fid_cq {
        pub fid: fid,
        pub ops: *const fi_ops_cq,
    }

    pub struct fi_msg {
        pub msg_iov: *const libc::iovec,
        pub desc: *mut *mut c_void,
        pub iov_count: usize,
        pub addr: u64,
        pub context: *mut c_void,
        pub data: u64,
    }

    pub struct fi_msg_tagged {
        pub msg_iov: *const libc::iovec,
        pub desc: *mut *mut c_void,
        pub iov_count: usize,
        pub addr: u64,
        pub tag: u64,
        pub ignore: u64,
        pub context: *mut c_void,
        pub data: u64,
    }

    pub struct fi_rma_iov {
        pub addr: u64,
        pub len: usize,
        pub key: u64,
    }

    pub struct fi_msg_rma {
        pub msg_iov: *const libc::iovec,
        pub desc: *mut *mut c_void,
        pub iov_count: usize,
        pub addr: u64,
        pub rma_iov: *const fi_rma_iov,
        pub rma_iov_count: usize,
        pub context: *mut c_void,
        pub data: u64,
    }

    pub struct fi_ops_ep {
        pub size: usize,
        pub cancel: unsafe extern "C" fn(*mut fid, *mut c_void) -> isize,
        pub getopt: unsafe extern "C" fn(*mut fid, c_int, c_int, *mut c_void, *mut usize) -> c_int,
        pub setopt: unsafe extern "C" fn(*mut fid, c_int, c_int, *const c_void, usize) -> c_int,
        pub tx_ctx: Function,
        pub rx_ctx: Function,
        pub rx_size_left: Function,
        pub tx_size_left: Function,
    }

    pub struct fi_ops_cm {
        pub size: usize,
        pub setname: Function,
        pub getname: unsafe extern "C" fn(*mut fid, *mut c_void, *mut usize) -> c_int,
        pub getpeer: Function,
        pub connect: Function,
        pub listen: Function,
        pub accept: Function,
        pub reject: Function,
        pub shutdown: Function,
        pub join: Function,
    }

    pub struct fi_ops_msg {
        pub size: usize,
        pub recv: unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
        pub recvv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, *mut c_void) -> isize,
        pub recvmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg, u64) -> isize,
        pub send: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
        pub sendv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, *mut c_void) -> isize,
        pub sendmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg, u64) -> isize,
        pub inject: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64) -> isize,
        pub senddata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, *mut c_void) -> isize,
        pub injectdata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64) -> isize,
    }

    pub struct fi_ops_tagged {
        pub size: usize,
        pub recv: unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
        pub recvv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize,
        pub recvmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_tagged, u64) -> isize,
        pub send: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, *mut c_void) -> isize,
        pub sendv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, u64, *mut c_void) -> isize,
        pub sendmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_tagged, u64) -> isize,
        pub inject: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64) -> isize,
        pub senddata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
        pub injectdata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64, u64) -> isize,
    }

    pub struct fi_ops_rma {
        pub size: usize,
        pub read: unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
        pub readv: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize,
        pub readmsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_rma, u64) -> isize,
        pub write: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
        pub writev: unsafe extern "C" fn(*mut fid_ep, *const libc::iovec, *mut *mut c_void, usize, u64, u64, u64, *mut c_void) -> isize,
        pub writemsg: unsafe extern "C" fn(*mut fid_ep, *const fi_msg_rma, u64) -> isize,
        pub inject: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64, u64) -> isize,
        pub writedata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, u64, u64, u64, *mut c_void) -> isize,
        pub injectdata: unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64, u64, u64, u64) -> isize,
    }

    pub struct fid_ep {
        pub fid: fid,
        pub ops: *const fi_ops_ep,
        pub cm: *const fi_ops_cm,
        pub msg: *const fi_ops_msg,
        pub rma: *const fi_ops_rma,
        pub tagged: *const fi_ops_tagged,
        pub atomic: *const c_void,
        pub collective: *const c_void,
    }
}
