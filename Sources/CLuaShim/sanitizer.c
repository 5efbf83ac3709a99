/* Debian's liblua raises through __longjmp_chk, which the thread sanitizer does not know, so that its shadow of the
 * stack would grow with every raise. Under that sanitizer only, the call uses the longjmp that it watches. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <setjmp.h>

_Noreturn void __longjmp_chk(struct __jmp_buf_tag environment[1], int value);
__attribute__((disable_sanitizer_instrumentation)) _Noreturn void __longjmp_chk(
    struct __jmp_buf_tag environment[1], int value) {
  longjmp(environment, value);
}
#endif
#endif
typedef int sanitizer_is_a_translation_unit;
