// Stands before the C library's way to the network: writes down what is asked of it, and refuses that.
//
// Compiled by `network.rs` and preloaded into a process under test; the file named by NETWORK_LOG gets a line for each
// call, and one at the start, by which a test knows that it is at work.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void say(const char *call, const char *what) {
    const char *path = getenv("NETWORK_LOG");
    char line[512];
    int length = snprintf(line, sizeof line, "%s %s\n", call, what ? what : "");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    // A call that nobody hears of must not pass.
    if (length >= (int)sizeof line) length = sizeof line - 1;
    if (file < 0 || write(file, line, length) != length) abort();
    close(file);
}

__attribute__((constructor)) static void start(void) { say("watched", ""); }

static int is_inet(const struct sockaddr *to) {
    return to && (to->sa_family == AF_INET || to->sa_family == AF_INET6);
}

static int refuse(const char *call, const struct sockaddr *to) {
    char host[INET6_ADDRSTRLEN] = "?";
    if (to && to->sa_family == AF_INET) inet_ntop(AF_INET, &((const struct sockaddr_in *)to)->sin_addr, host, sizeof host);
    if (to && to->sa_family == AF_INET6) inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)to)->sin6_addr, host, sizeof host);
    say(call, host);
    errno = ENETUNREACH;
    return -1;
}

int socket(int domain, int type, int protocol) {
    static int (*next)(int, int, int);
    if (domain == AF_INET || domain == AF_INET6 || domain == AF_PACKET) say("socket", domain == AF_INET ? "inet" : "inet6");
    if (!next) next = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
    return next(domain, type, protocol);
}

int connect(int fd, const struct sockaddr *to, socklen_t length) {
    static int (*next)(int, const struct sockaddr *, socklen_t);
    if (is_inet(to)) return refuse("connect", to);
    if (!next) next = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    return next(fd, to, length);
}

ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to, socklen_t length) {
    static ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    if (is_inet(to)) return refuse("sendto", to);
    if (!next) next = (ssize_t(*)(int, const void *, size_t, int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "sendto");
    return next(fd, bytes, n, flags, to, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    static ssize_t (*next)(int, const struct msghdr *, int);
    if (message && is_inet(message->msg_name)) return refuse("sendmsg", message->msg_name);
    if (!next) next = (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
    return next(fd, message, flags);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    (void)service, (void)hints, (void)found;
    say("getaddrinfo", name);
    return EAI_FAIL;
}

struct hostent *gethostbyname(const char *name) {
    say("gethostbyname", name);
    return NULL;
}

struct hostent *gethostbyname2(const char *name, int family) {
    (void)family;
    say("gethostbyname2", name);
    return NULL;
}

int gethostbyname_r(const char *name, struct hostent *into, char *buffer, size_t size, struct hostent **found, int *error) {
    (void)into, (void)buffer, (void)size;
    say("gethostbyname_r", name);
    *found = NULL;
    *error = NO_RECOVERY;
    return ENOENT;
}

int gethostbyname2_r(const char *name, int family, struct hostent *into, char *buffer, size_t size, struct hostent **found,
                     int *error) {
    (void)family;
    return gethostbyname_r(name, into, buffer, size, found, error);
}

#define QUERY(call) \
    int call(const char *name, int kind, int type, unsigned char *answer, int size) { \
        (void)kind, (void)type, (void)answer, (void)size; \
        say(#call, name); \
        return -1; \
    }
#define STATEFUL_QUERY(call) \
    int call(void *state, const char *name, int kind, int type, unsigned char *answer, int size) { \
        (void)state, (void)kind, (void)type, (void)answer, (void)size; \
        say(#call, name); \
        return -1; \
    }
QUERY(res_query)
QUERY(res_search)
QUERY(__res_query)
QUERY(__res_search)
STATEFUL_QUERY(res_nquery)
STATEFUL_QUERY(res_nsearch)
STATEFUL_QUERY(__res_nquery)
STATEFUL_QUERY(__res_nsearch)
