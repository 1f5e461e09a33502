// Sends requests at a fixed rate, whether or not answers arrive (an open loop), and prints the results as JSON:
//
//     offer PORT FILE RATE SETTLE SECONDS CONNECTIONS THREADS GRACE
//
// FILE has one JSON body and one bearer token per line, separated by a tab. A request that is due while all connections
// wait for answers is counted as not sent. Latencies are measured from when a request is due. Queues fill for SETTLE
// seconds. Good answers that arrive within the following SECONDS are in time. After that the program waits GRACE
// seconds for answers.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, EVENTS = 256, BURST = 64 };

typedef struct {
    char *bytes;
    size_t length;
} Request;

typedef struct {
    uint32_t *values;
    size_t count, room;
} Latencies;

typedef struct {
    int descriptor;
    int is_waiting;
    int64_t due;
    size_t head_length;
    int64_t body_left; // -1 while the head is not complete
    int status, closes;
    char head[HEAD_BYTES + 1];
} Connection;

typedef struct {
    int port, epoll;
    size_t connection_count, first_request, stride;
    double rate;
    int64_t start, settled, end, grace_end;
    Connection *connections;
    // Idle connections, the least recently used one first.
    size_t *idle, idle_first, idle_count;
    uint64_t due, unsent, other, broken, unanswered, in_time;
    Latencies good, refused;
    char *buffer;
} Thread;

static Request *requests;
static size_t request_count;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void *must(void *block) {
    if (!block) {
        fputs("offer: out of memory\n", stderr);
        exit(1);
    }
    return block;
}

static void note(Latencies *all, int64_t nanoseconds) {
    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 4096;
        all->values = must(realloc(all->values, all->room * sizeof *all->values));
    }
    int64_t microseconds = nanoseconds / 1000;
    all->values[all->count++] = microseconds > UINT32_MAX ? UINT32_MAX : (uint32_t)microseconds;
}

static void read_requests(const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0, requests_room = 0;
    ssize_t length;
    if (!file) {
        perror(path);
        exit(1);
    }
    while ((length = getline(&line, &room, file)) > 0) {
        if (line[length - 1] == '\n') line[--length] = 0;
        char *tab = strchr(line, '\t');
        if (!tab) continue;
        *tab = 0;
        if (request_count == requests_room) {
            requests_room = requests_room ? requests_room * 2 : 1024;
            requests = must(realloc(requests, requests_room * sizeof *requests));
        }
        Request *request = &requests[request_count++];
        int written = asprintf(&request->bytes,
            "POST /v1/presigned-urls HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", tab + 1, strlen(line), line);
        if (written < 0) must(NULL);
        request->length = (size_t)written;
    }
    free(line);
    fclose(file);
    if (!request_count) {
        fprintf(stderr, "offer: %s holds no requests\n", path);
        exit(1);
    }
}

// Reconnects. Loopback answers at once.
static int open_connection(Thread *thread, size_t index) {
    Connection *connection = &thread->connections[index];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)thread->port)};
    int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->descriptor < 0) return 0;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = index};
    if (connect(connection->descriptor, (struct sockaddr *)&address, sizeof address)
        || setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)
        || epoll_ctl(thread->epoll, EPOLL_CTL_ADD, connection->descriptor, &event)) {
        close(connection->descriptor);
        connection->descriptor = -1;
        return 0;
    }
    return 1;
}

static void put_idle(Thread *thread, size_t index) {
    thread->idle[(thread->idle_first + thread->idle_count++) % thread->connection_count] = index;
}

static void close_connection(Connection *connection) {
    if (connection->descriptor >= 0) close(connection->descriptor);
    connection->descriptor = -1;
}

static void send_due(Thread *thread, int64_t due) {
    thread->due++;
    if (!thread->idle_count) {
        thread->unsent++;
        return;
    }
    size_t index = thread->idle[thread->idle_first];
    Connection *connection = &thread->connections[index];
    if (connection->descriptor < 0 && !open_connection(thread, index)) {
        thread->unsent++;
        return;
    }
    thread->idle_first = (thread->idle_first + 1) % thread->connection_count;
    thread->idle_count--;
    Request *request = &requests[thread->first_request];
    thread->first_request = (thread->first_request + thread->stride) % request_count;
    connection->due = due;
    connection->is_waiting = 1;
    connection->head_length = 0;
    connection->body_left = -1;
    // A request fits into the buffer of a socket, which is empty here.
    if (send(connection->descriptor, request->bytes, request->length, MSG_NOSIGNAL) != (ssize_t)request->length) {
        thread->broken++;
        connection->is_waiting = 0;
        close_connection(connection);
        put_idle(thread, index);
    }
}

static void finish(Thread *thread, size_t index, int64_t at) {
    Connection *connection = &thread->connections[index];
    if (connection->status / 100 == 2) {
        note(&thread->good, at - connection->due);
        if (at >= thread->settled && at < thread->end) thread->in_time++;
    } else if (connection->status == 503) {
        note(&thread->refused, at - connection->due);
    } else {
        thread->other++;
    }
    connection->is_waiting = 0;
    if (connection->closes) close_connection(connection);
    put_idle(thread, index);
}

// Reads the needed parts of a complete head.
static void read_head(Connection *connection) {
    connection->status = atoi(connection->head + 9);
    connection->body_left = 0;
    connection->closes = 0;
    for (char *line = strstr(connection->head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (!strncasecmp(line + 2, "Content-Length:", 15)) connection->body_left = atoll(line + 17);
        if (!strncasecmp(line + 2, "Connection: close", 17)) connection->closes = 1;
    }
}

static void receive(Thread *thread, size_t index) {
    Connection *connection = &thread->connections[index];
    ssize_t count = recv(connection->descriptor, thread->buffer, 1 << 16, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        // The server has closed the connection, which is an error only if an answer is due.
        close_connection(connection);
        if (!connection->is_waiting) return;
        thread->broken++;
        connection->is_waiting = 0;
        put_idle(thread, index);
        return;
    }
    if (!connection->is_waiting) return;
    if (connection->body_left < 0) {
        size_t room = HEAD_BYTES - connection->head_length;
        size_t taken = (size_t)count < room ? (size_t)count : room;
        memcpy(connection->head + connection->head_length, thread->buffer, taken);
        connection->head_length += taken;
        connection->head[connection->head_length] = 0;
        char *end = strstr(connection->head, "\r\n\r\n");
        if (!end) {
            if (connection->head_length == HEAD_BYTES) {
                fputs("offer: the head of an answer is too long\n", stderr);
                exit(1);
            }
            return;
        }
        size_t before = connection->head_length - taken;
        size_t head = (size_t)(end - connection->head) + 4;
        end[2] = 0;
        read_head(connection);
        connection->body_left -= count - (ssize_t)(head - before);
    } else {
        connection->body_left -= count;
    }
    if (connection->body_left <= 0) finish(thread, index, now());
}

static void *offer(void *argument) {
    Thread *thread = argument;
    struct epoll_event events[EVENTS];
    double interval = 1e9 / thread->rate;
    uint64_t number = 0;
    for (;;) {
        int64_t time = now(), due = 0;
        for (int sent = 0; sent < BURST; sent++) {
            due = thread->start + (int64_t)((double)number * interval);
            if (due > time || due >= thread->end) break;
            send_due(thread, due);
            number++;
        }
        int is_over = due >= thread->end;
        if (is_over && (thread->idle_count == thread->connection_count || time >= thread->grace_end)) break;
        // Until the next request is due, other processes may have the processor.
        int64_t left = is_over ? 10000000 : due > time ? due - time : 0;
        struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        int count = epoll_pwait2(thread->epoll, events, EVENTS, &timeout, NULL);
        for (int event = 0; event < count; event++) receive(thread, events[event].data.u64);
    }
    thread->unanswered = thread->connection_count - thread->idle_count;
    return NULL;
}

static int compare(const void *one, const void *other) {
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

static void print_latencies(const char *name, Latencies *all) {
    double at[3] = {0};
    if (all->count) {
        const double shares[3] = {0.5, 0.99, 1};
        qsort(all->values, all->count, sizeof *all->values, compare);
        for (int which = 0; which < 3; which++) {
            size_t index = (size_t)((double)all->count * shares[which]);
            at[which] = all->values[index < all->count ? index : all->count - 1] / 1e3;
        }
    }
    printf("\"%s\": {\"count\": %zu, \"p50\": %.3f, \"p99\": %.3f, \"slowest\": %.3f}, ", name, all->count, at[0], at[1], at[2]);
}

static void join_latencies(Latencies *all, const Latencies *some) {
    for (size_t index = 0; index < some->count; index++) note(all, (int64_t)some->values[index] * 1000);
}

int main(int count, char **arguments) {
    if (count != 9) {
        fputs("offer PORT FILE RATE SETTLE SECONDS CONNECTIONS THREADS GRACE\n", stderr);
        return 2;
    }
    read_requests(arguments[2]);
    double rate = atof(arguments[3]), settle = atof(arguments[4]), seconds = atof(arguments[5]), grace = atof(arguments[8]);
    size_t connections = (size_t)atol(arguments[6]), threads = (size_t)atol(arguments[7]);
    if (rate <= 0 || seconds <= 0 || !threads || connections < threads) {
        fputs("offer: rate and seconds must be positive, and connections as many as threads\n", stderr);
        return 2;
    }
    Thread *all = must(calloc(threads, sizeof *all));
    pthread_t *running = must(calloc(threads, sizeof *running));
    for (size_t index = 0; index < threads; index++) {
        Thread *thread = &all[index];
        thread->port = atoi(arguments[1]);
        thread->epoll = epoll_create1(EPOLL_CLOEXEC);
        thread->connection_count = connections / threads;
        thread->first_request = index % request_count;
        thread->stride = threads;
        thread->rate = rate / (double)threads;
        thread->connections = must(calloc(thread->connection_count, sizeof *thread->connections));
        thread->idle = must(calloc(thread->connection_count, sizeof *thread->idle));
        thread->buffer = must(malloc(1 << 16));
        for (size_t number = 0; number < thread->connection_count; number++) {
            if (!open_connection(thread, number)) {
                perror("offer: connect");
                return 1;
            }
            put_idle(thread, number);
        }
    }
    int64_t start = now() + 10000000;
    for (size_t index = 0; index < threads; index++) {
        all[index].start = start;
        all[index].settled = start + (int64_t)(settle * 1e9);
        all[index].end = all[index].settled + (int64_t)(seconds * 1e9);
        all[index].grace_end = all[index].end + (int64_t)(grace * 1e9);
        if (pthread_create(&running[index], NULL, offer, &all[index])) return 1;
    }
    Thread total = {0};
    for (size_t index = 0; index < threads; index++) {
        pthread_join(running[index], NULL);
        total.due += all[index].due;
        total.unsent += all[index].unsent;
        total.other += all[index].other;
        total.broken += all[index].broken;
        total.unanswered += all[index].unanswered;
        total.in_time += all[index].in_time;
        join_latencies(&total.good, &all[index].good);
        join_latencies(&total.refused, &all[index].refused);
    }
    printf("{\"due\": %lu, \"unsent\": %lu, \"other\": %lu, \"broken\": %lu, \"unanswered\": %lu, \"inTime\": %lu, ",
        total.due, total.unsent, total.other, total.broken, total.unanswered, total.in_time);
    print_latencies("good", &total.good);
    print_latencies("refused", &total.refused);
    printf("\"seconds\": %g}\n", seconds);
    return 0;
}
