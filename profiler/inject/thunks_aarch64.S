/* One stand-in for each symbol of inject.h, as in thunks_x86_64.S. The procedure call standard reserves x16 and x17 for
 * code between a call and its function; a branch through x16 may target a function that begins with `bti c`. */
#include "profiler/inject/symbols.h"

/* As hint numbers, which older processors ignore and every assembler accepts. */
#define BTI_C hint #34
#define PACIASP hint #25
#define AUTIASP hint #29

        .text
        .type tapelens_enter, %function
tapelens_enter: /* index in w16 */
        PACIASP
        stp x29, x30, [sp, #-224]!
        mov x29, sp
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        str x8, [sp, #80] /* address of a large result */
        stp q0, q1, [sp, #96]
        stp q2, q3, [sp, #128]
        stp q4, q5, [sp, #160]
        stp q6, q7, [sp, #192]
        mov w0, w16
        bl tapelens_resolve
        mov x16, x0
        ldp x0, x1, [sp, #16]
        ldp x2, x3, [sp, #32]
        ldp x4, x5, [sp, #48]
        ldp x6, x7, [sp, #64]
        ldr x8, [sp, #80]
        ldp q0, q1, [sp, #96]
        ldp q2, q3, [sp, #128]
        ldp q4, q5, [sp, #160]
        ldp q6, q7, [sp, #192]
        ldp x29, x30, [sp], #224
        AUTIASP
        br x16
        .size tapelens_enter, .-tapelens_enter

/* \@ counts the expansions from 0: the symbol's index in the table. The slot is read with acquire, so that the new
 * function sees all writes before the slot was filled; on x86-64 plain loads suffice. */
.macro THUNK symbol
        .globl \symbol
        .type \symbol, %function
        .p2align 4
\symbol:
        BTI_C
        adrp x16, tapelens_slots + 8 * \@
        add x16, x16, :lo12:tapelens_slots + 8 * \@
        ldar x16, [x16]
        br x16
        .size \symbol, .-\symbol
.Lstub\@:
        BTI_C
        mov w16, #\@
        b tapelens_enter
        .pushsection .data, "aw", %progbits
        .xword .Lstub\@
        .popsection
        .pushsection .data.rel.ro.local, "aw", %progbits
        .xword .Lstub\@
        .popsection
.endm

        .pushsection .data, "aw", %progbits
        .p2align 3
        .globl tapelens_slots
        .hidden tapelens_slots
tapelens_slots:
        .popsection
        .pushsection .data.rel.ro.local, "aw", %progbits
        .p2align 3
        .globl tapelens_stubs
        .hidden tapelens_stubs
tapelens_stubs:
        .popsection

#define X(name, symbol) THUNK symbol;
        TAPELENS_SYMBOLS(X)

/* Every branch target above has a BTI landing pad, and every return address is signed. */
        .section .note.gnu.property, "a", %note
        .p2align 3
        .word 4, 16, 5
        .asciz "GNU"
        .word 0xc0000000, 4, 3, 0

        .section .note.GNU-stack, "", %progbits
