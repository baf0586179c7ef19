// Every form of operator new and delete; all of them have to end in the library. Exit code 0: all as the standard has it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <string>
#include <vector>

struct alignas(256) Wide {
    char bytes[256];
};

static int handled;

static void give_up() {
    if (++handled == 3) std::set_new_handler(nullptr);
}

static bool is_good(void *block, std::size_t bytes, std::size_t alignment) {
    return block && reinterpret_cast<std::uintptr_t>(block) % alignment == 0 && malloc_usable_size(block) >= bytes;
}

int main() {
    const std::align_val_t wide{512};
    for (std::size_t bytes = 0; bytes < 5000; bytes = bytes * 2 + 1) {
        void *block = ::operator new(bytes);
        if (!is_good(block, bytes, 16)) return 1;
        ::operator delete(block);
        block = ::operator new[](bytes);
        if (!is_good(block, bytes, 16)) return 2;
        ::operator delete[](block);
        block = ::operator new(bytes);
        ::operator delete(block, bytes);
        block = ::operator new[](bytes);
        ::operator delete[](block, bytes);
        block = ::operator new(bytes, wide);
        if (!is_good(block, bytes, 512)) return 3;
        ::operator delete(block, wide);
        block = ::operator new[](bytes, wide);
        if (!is_good(block, bytes, 512)) return 4;
        ::operator delete[](block, bytes, wide);
        block = ::operator new(bytes, std::nothrow);
        if (!is_good(block, bytes, 16)) return 5;
        ::operator delete(block, std::nothrow);
        block = ::operator new[](bytes, std::nothrow);
        if (!is_good(block, bytes, 16)) return 6;
        ::operator delete[](block, std::nothrow);
        block = ::operator new(bytes, wide, std::nothrow);
        if (!is_good(block, bytes, 512)) return 7;
        ::operator delete(block, wide, std::nothrow);
        block = ::operator new[](bytes, wide, std::nothrow);
        if (!is_good(block, bytes, 512)) return 8;
        ::operator delete[](block, wide, std::nothrow);
        block = ::operator new(bytes, wide);
        ::operator delete(block, bytes, wide);
    }
    Wide *object = new Wide;
    if (reinterpret_cast<std::uintptr_t>(object) % 256) return 9;
    delete object;
    delete[] new Wide[3];
    std::vector<std::string> words;
    for (int i = 0; i < 10000; i++) words.push_back(std::string(i % 100, 'x'));

    volatile std::size_t most = SIZE_MAX / 2;
    if (::operator new(most, std::nothrow)) return 10;
    std::set_new_handler(give_up);
    try {
        std::free(::operator new(most));
        return 11;
    } catch (const std::bad_alloc &) {
    }
    return handled == 3 ? 0 : 12;
}
