/* One stand-in for each symbol of inject.h: a jump through its slot. Until the slot is filled, it points to a stub that
 * saves every argument register, calls tapelens_resolve(index) for the target, and jumps there. */
#include "profiler/inject/symbols.h"

        .text
        .type tapelens_enter, @function
tapelens_enter: /* index in %eax */
        pushq %rbp
        movq %rsp, %rbp
        andq $-16, %rsp
        subq $192, %rsp
        movq %rdi, 0(%rsp)
        movq %rsi, 8(%rsp)
        movq %rdx, 16(%rsp)
        movq %rcx, 24(%rsp)
        movq %r8, 32(%rsp)
        movq %r9, 40(%rsp)
        movups %xmm0, 48(%rsp)
        movups %xmm1, 64(%rsp)
        movups %xmm2, 80(%rsp)
        movups %xmm3, 96(%rsp)
        movups %xmm4, 112(%rsp)
        movups %xmm5, 128(%rsp)
        movups %xmm6, 144(%rsp)
        movups %xmm7, 160(%rsp)
        movl %eax, %edi
        call tapelens_resolve
        movq 0(%rsp), %rdi
        movq 8(%rsp), %rsi
        movq 16(%rsp), %rdx
        movq 24(%rsp), %rcx
        movq 32(%rsp), %r8
        movq 40(%rsp), %r9
        movups 48(%rsp), %xmm0
        movups 64(%rsp), %xmm1
        movups 80(%rsp), %xmm2
        movups 96(%rsp), %xmm3
        movups 112(%rsp), %xmm4
        movups 128(%rsp), %xmm5
        movups 144(%rsp), %xmm6
        movups 160(%rsp), %xmm7
        leave
        jmp *%rax
        .size tapelens_enter, .-tapelens_enter

/* \@ counts the expansions from 0: the symbol's index in the table. */
.macro THUNK symbol
        .globl \symbol
        .type \symbol, @function
        .p2align 4
\symbol:
        endbr64
        jmp *(tapelens_slots + 8 * \@)(%rip)
        .size \symbol, .-\symbol
.Lstub\@:
        movl $\@, %eax
        jmp tapelens_enter
        .pushsection .data, "aw", @progbits
        .quad .Lstub\@
        .popsection
        .pushsection .data.rel.ro.local, "aw", @progbits
        .quad .Lstub\@
        .popsection
.endm

        .pushsection .data, "aw", @progbits
        .p2align 3
        .globl tapelens_slots
        .hidden tapelens_slots
tapelens_slots:
        .popsection
        .pushsection .data.rel.ro.local, "aw", @progbits
        .p2align 3
        .globl tapelens_stubs
        .hidden tapelens_stubs
tapelens_stubs:
        .popsection

#define X(name, symbol) THUNK symbol;
        TAPELENS_SYMBOLS(X)

        .section .note.GNU-stack, "", @progbits
