/* Blocks of CUDA threads on a host: one after the other, and where they wait for each other as contexts of one thread.
 *
 * Stands before a kernel's text, which lies in a namespace of its own with its own sized types. Threads of a block take
 * turns in a fixed order, each until it waits or ends.
 */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <utility>

struct uint3 {
    unsigned x, y, z;
};

/* Variables are a module's own: kernels tell places in shared memory by their distance from another. */
static uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {

const unsigned WARP = 32, WARPGROUP = 128, MOST = 1024, STACK_BYTES = 64 << 10;

/* Threads that wait for each other: those that have come, how often all have, and those that there are. */
struct Meeting {
    unsigned come = 0, times = 0, members = 0;
};

static ucontext_t contexts[MOST];
static char *stacks;
static bool running[MOST], begun[MOST];
static unsigned long long values[MOST]; /* a word for each thread, that its warp may read */
static Meeting warps[MOST / WARP], warpgroups[MOST / WARPGROUP], block;
static jmp_buf places[MOST], scheduler; /* jumps, unlike changes of contexts, make no calls of the system */
alignas(1024) static unsigned char shared[227 << 10]; /* what a launch asks for */
static unsigned current;
static void (*body)(void **);
static void **arguments;

inline void give_way() {
    if (_setjmp(places[current]) == 0)
        _longjmp(scheduler, 1);
}

inline void release_if_all_came(Meeting &m) {
    if (m.members != 0 && m.come == m.members) {
        m.come = 0;
        ++m.times;
    }
}

inline void meet(Meeting &m) {
    const unsigned times = m.times;
    ++m.come;
    release_if_all_came(m);
    while (m.times == times)
        give_way();
}

inline void leave(Meeting &m) {
    --m.members;
    release_if_all_came(m);
}

/* One thread of each block after another, in the same context. */
inline void enter() {
    for (;;) {
        body(arguments);
        running[current] = false;
        leave(warps[current / WARP]);
        leave(warpgroups[current / WARPGROUP]);
        leave(block);
        give_way();
    }
}

inline void begin(unsigned thread) {
    getcontext(&contexts[thread]);
    contexts[thread].uc_stack.ss_sp = stacks + thread * STACK_BYTES;
    contexts[thread].uc_stack.ss_size = STACK_BYTES;
    contexts[thread].uc_link = nullptr;
    makecontext(&contexts[thread], enter, 0);
    begun[thread] = true;
    setcontext(&contexts[thread]);
}

/* Ensures: a thread has run on from where it was, or from its beginning, until it waits or ends. */
inline void run_on(unsigned thread) {
    if (_setjmp(scheduler) != 0)
        return;
    if (begun[thread])
        _longjmp(places[thread], 1);
    begin(thread);
}

inline void take_place(unsigned thread) {
    threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / (blockDim.x * blockDim.y)};
}

inline void run_alone(unsigned threads) {
    for (unsigned thread = 0; thread < threads; ++thread) {
        take_place(thread);
        body(arguments);
    }
}

inline void run_together(unsigned threads) {
    if (stacks == nullptr)
        stacks = (char *)malloc((size_t)MOST * STACK_BYTES);
    for (Meeting &warp : warps)
        warp = Meeting();
    for (Meeting &warpgroup : warpgroups)
        warpgroup = Meeting();
    block = Meeting();
    block.members = threads;
    for (unsigned thread = 0; thread < threads; ++thread) {
        running[thread] = true;
        ++warps[thread / WARP].members;
        ++warpgroups[thread / WARPGROUP].members;
    }
    for (unsigned left = threads; left != 0;)
        for (unsigned thread = 0; thread < threads; ++thread)
            if (running[thread]) {
                current = thread;
                take_place(thread);
                run_on(thread);
                left -= !running[thread];
            }
}

template <class T> T copy(const void *from) {
    T result;
    std::memcpy(&result, from, sizeof result);
    return result;
}

template <class Kernel> struct Call;

template <class... Parameters> struct Call<void(Parameters...)> {
    template <size_t... i> static void unpack(void (*kernel)(Parameters...), void **from, std::index_sequence<i...>) {
        kernel(copy<Parameters>(from[i])...);
    }
};

template <class... Parameters> void call(void (*kernel)(Parameters...), void **from) {
    Call<void(Parameters...)>::unpack(kernel, from, std::index_sequence_for<Parameters...>());
}

/* Ensures: all blocks of the grid have run. */
inline void launch(void (*unpacked)(void **), const unsigned grid[3], const unsigned dimensions[3], void **from,
                   bool together) {
    const unsigned threads = dimensions[0] * dimensions[1] * dimensions[2];
    body = unpacked;
    arguments = from;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {dimensions[0], dimensions[1], dimensions[2]};
    for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
                together ? run_together(threads) : run_alone(threads);
}

/* Ensures: what `combine` makes of the values of all lanes of the warp. */
template <class Value, class Combine> Value over_warp(unsigned mask, Value value, Combine combine) {
    const unsigned warp = current / WARP, first = warp * WARP, lane = current;
    if (mask != 0xffffffffu || warps[warp].members != WARP) {
        std::fprintf(stderr, "a warp is not whole: mask %#x, %u lanes\n", mask, warps[warp].members);
        std::abort();
    }
    values[lane] = (unsigned long long)value;
    meet(warps[warp]);
    const Value result = combine((const unsigned long long *)&values[first], lane - first);
    meet(warps[warp]);
    return result;
}

} // namespace emulation
