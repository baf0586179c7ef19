/*
 * libfabric's interface with bad input: what comes of it, and that others are not disturbed. Two processes, joined by pipes.
 * The target registers memory and serves; the other one asks for what it may not. Prints a line for each case.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

enum { BYTES = 40000, ADDRESS_BYTES = 64 };

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        long result_ = (call);                                                                                         \
        if (result_ < 0) {                                                                                             \
            fprintf(stderr, "line %d: %s: %ld\n", __LINE__, #call, result_);                                           \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fi_info *info;

struct port {
    struct fid_ep *ep;
    struct fid_cq *cq;
    unsigned char name[ADDRESS_BYTES];
    size_t name_bytes;
};

static void open_domain(void) {
    struct fi_info *hints = fi_allocinfo();

    hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR;
    hints->fabric_attr->prov_name = strdup("pagemill");
    MUST(fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, hints, &info));
    CHECK(!(info->domain_attr->mr_mode & FI_MR_VIRT_ADDR));
    MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
    MUST(fi_domain(fabric, info, &domain, NULL));
    MUST(fi_av_open(domain, &(struct fi_av_attr){.type = FI_AV_MAP}, &av, NULL));
    fi_freeinfo(hints);
}

static struct port open_port(void) {
    struct port port = {.name_bytes = ADDRESS_BYTES};

    MUST(fi_cq_open(domain, &(struct fi_cq_attr){.format = FI_CQ_FORMAT_TAGGED}, &port.cq, NULL));
    MUST(fi_endpoint(domain, info, &port.ep, NULL));
    CHECK(fi_enable(port.ep) == -FI_ENOAV);
    MUST(fi_ep_bind(port.ep, &av->fid, 0));
    MUST(fi_ep_bind(port.ep, &port.cq->fid, FI_TRANSMIT | FI_RECV));
    MUST(fi_enable(port.ep));
    MUST(fi_getname(&port.ep->fid, port.name, &port.name_bytes));
    return port;
}

/* The next completion; its error number, 0 if it went well. */
static int next(struct port *port, struct fi_cq_tagged_entry *entry) {
    for (;;) {
        ssize_t got = fi_cq_read(port->cq, entry, 1);
        if (got == 1) return 0;
        if (got == -FI_EAVAIL) {
            struct fi_cq_err_entry error = {0};
            MUST(fi_cq_readerr(port->cq, &error, 0));
            entry->op_context = error.op_context;
            return error.err;
        }
        CHECK(got == -FI_EAGAIN);
    }
}

static void expect(struct port *port, const char *what, int error, void *context) {
    struct fi_cq_tagged_entry entry = {0};
    int got = next(port, &entry);

    printf("%s: %s\n", what, got ? fi_strerror(got) : "ok");
    fflush(stdout);
    CHECK(got == error);
    CHECK(entry.op_context == context);
}

struct offer {
    unsigned char name[ADDRESS_BYTES];
    uint64_t key, revoked, reused_old, reused_new;
};

static unsigned char memory[BYTES], other[BYTES];

static void target(int out, int in) {
    struct port port = open_port();
    struct fid_mr *region, *revoked, *reused;
    struct offer offer = {0};
    char byte;

    for (int i = 0; i < BYTES; i++) memory[i] = i * 7;
    MUST(fi_mr_reg(domain, memory, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &region, NULL));
    MUST(fi_mr_reg(domain, other, 100, FI_REMOTE_READ, 0, 0, 0, &revoked, NULL));
    offer.revoked = fi_mr_key(revoked);
    MUST(fi_close(&revoked->fid));
    offer.reused_old = offer.revoked;
    MUST(fi_mr_reg(domain, other, 100, FI_REMOTE_READ, 0, 0, 0, &reused, NULL));
    offer.reused_new = fi_mr_key(reused);
    /* One that stays revoked. */
    struct fid_mr *gone;
    MUST(fi_mr_reg(domain, other, 100, FI_REMOTE_READ, 0, 0, 0, &gone, NULL));
    offer.revoked = fi_mr_key(gone);
    MUST(fi_close(&gone->fid));
    offer.key = fi_mr_key(region);
    memcpy(offer.name, port.name, port.name_bytes);
    CHECK(write(out, &offer, sizeof offer) == sizeof offer);
    MUST(fcntl(in, F_SETFL, O_NONBLOCK));
    /* Serving takes no more than looking. */
    while (read(in, &byte, 1) < 0) {
        struct fi_cq_tagged_entry entry;
        CHECK(errno == EAGAIN);
        CHECK(fi_cq_read(port.cq, &entry, 1) == -FI_EAGAIN);
    }
    for (int i = 0; i < BYTES; i++) CHECK(memory[i] == (unsigned char)(i >= 1000 && i < 31000 ? 0x5a : i * 7));
    MUST(fi_close(&port.ep->fid));
}

static void initiator(int out, int in) {
    struct port port = open_port(), bystander = open_port();
    static unsigned char buffer[2 * BYTES];
    struct offer offer;
    fi_addr_t peer, absent, self, bystanders;
    int context[16];

    CHECK(read(in, &offer, sizeof offer) == sizeof offer);
    CHECK(fi_av_insert(av, offer.name, 1, &peer, 0, NULL) == 1);
    CHECK(fi_av_insert(av, port.name, 1, &self, 0, NULL) == 1);
    CHECK(fi_av_insert(av, bystander.name, 1, &bystanders, 0, NULL) == 1);
    unsigned char bad[ADDRESS_BYTES] = {1, 2, 3};
    CHECK(fi_av_insert(av, bad, 1, &absent, 0, NULL) == 0 && absent == FI_ADDR_NOTAVAIL);

    memset(buffer, 0x5a, sizeof buffer);
    MUST(fi_write(port.ep, buffer, 30000, NULL, peer, 1000, offer.key, &context[0]));
    expect(&port, "write", 0, &context[0]);
    memset(buffer, 0, sizeof buffer);
    MUST(fi_read(port.ep, buffer, BYTES, NULL, peer, 0, offer.key, &context[1]));
    expect(&port, "read", 0, &context[1]);
    for (int i = 0; i < BYTES; i++) CHECK(buffer[i] == (unsigned char)(i >= 1000 && i < 31000 ? 0x5a : i * 7));

    MUST(fi_read(port.ep, buffer, BYTES + 1, NULL, peer, 0, offer.key, &context[2]));
    expect(&port, "read past the end", FI_EREMOTEIO, &context[2]);
    MUST(fi_write(port.ep, buffer, 8, NULL, peer, BYTES - 7, offer.key, &context[3]));
    expect(&port, "write past the end", FI_EREMOTEIO, &context[3]);
    MUST(fi_read(port.ep, buffer, 8, NULL, peer, UINT64_MAX - 3, offer.key, &context[4]));
    expect(&port, "read before the start", FI_EREMOTEIO, &context[4]);
    MUST(fi_read(port.ep, buffer, 8, NULL, peer, 0, 0x123, &context[5]));
    expect(&port, "unregistered", FI_EKEYREJECTED, &context[5]);
    MUST(fi_write(port.ep, buffer, 8, NULL, peer, 0, offer.revoked, &context[6]));
    expect(&port, "deregistered", FI_EKEYREJECTED, &context[6]);
    MUST(fi_read(port.ep, buffer, 8, NULL, peer, 0, offer.reused_old, &context[7]));
    expect(&port, "key of an earlier registration", FI_EKEYREJECTED, &context[7]);
    MUST(fi_read(port.ep, buffer, 8, NULL, peer, 0, offer.reused_new, &context[8]));
    expect(&port, "key of the later registration", 0, &context[8]);

    /* A port of the other process that is not open. */
    unsigned char closed[ADDRESS_BYTES];
    memcpy(closed, offer.name, sizeof closed);
    closed[8] = 5;
    CHECK(fi_av_insert(av, closed, 1, &absent, 0, NULL) == 1);
    MUST(fi_send(port.ep, buffer, 8, NULL, absent, &context[9]));
    expect(&port, "send to a closed port", FI_EACCES, &context[9]);
    MUST(fi_read(port.ep, buffer, 8, NULL, absent, 0, offer.key, &context[10]));
    expect(&port, "read through a closed port", FI_EACCES, &context[10]);

    /* The other endpoint of this process was not disturbed, and messages find the right one. */
    static unsigned char here[100], there[200];
    MUST(fi_recv(bystander.ep, here, sizeof here, NULL, FI_ADDR_UNSPEC, &context[11]));
    MUST(fi_trecv(bystander.ep, there, sizeof there, NULL, self, 7, 0, &context[12]));
    memset(buffer, 0x11, 200);
    MUST(fi_tsend(port.ep, buffer, 200, NULL, bystanders, 7, &context[13]));
    expect(&port, "tagged send", 0, &context[13]);
    expect(&bystander, "tagged receive", 0, &context[12]);
    CHECK(there[0] == 0x11 && there[199] == 0x11 && here[0] == 0);
    MUST(fi_send(port.ep, buffer, 200, NULL, bystanders, &context[14]));
    expect(&port, "send", 0, &context[14]);
    expect(&bystander, "receive into a short buffer", FI_ETRUNC, &context[11]);
    MUST(fi_recv(bystander.ep, here, sizeof here, NULL, FI_ADDR_UNSPEC, &context[15]));
    MUST(fi_cancel(&bystander.ep->fid, &context[15]));
    expect(&bystander, "canceled receive", FI_ECANCELED, &context[15]);
    CHECK(fi_inject(port.ep, buffer, info->tx_attr->inject_size + 1, bystanders) == -FI_EMSGSIZE);
    CHECK(fi_tsend(port.ep, buffer, 8, NULL, bystanders, UINT64_MAX, NULL) == -FI_EINVAL);
    CHECK(fi_send(port.ep, buffer, 8, NULL, 1 << 20, NULL) == -FI_EINVAL);
    CHECK(write(out, "", 1) == 1);
    MUST(fi_close(&port.ep->fid));
    MUST(fi_close(&bystander.ep->fid));
}

int main(void) {
    int there[2], back[2];

    CHECK(!pipe(there) && !pipe(back));
    int is_target = fork() == 0;
    open_domain();
    if (is_target)
        target(back[1], there[0]);
    else
        initiator(there[1], back[0]);
    return 0;
}
