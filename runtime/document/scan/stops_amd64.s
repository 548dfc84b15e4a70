#include "textflag.h"

// MARK marks 16 bytes. X8, X9 and X10 have the quote, the last control character and the
// backslash in every byte; X11 collects all bytes.
#define MARK(offset, stops, slashes) \
	MOVOU    offset(SI), X0 \
	POR      X0, X11        \
	MOVO     X0, X1         \
	MOVO     X0, X2         \
	PCMPEQB  X8, X1         \
	PMINUB   X9, X2         \
	PCMPEQB  X0, X2         \
	PCMPEQB  X10, X0        \
	POR      X2, X1         \
	PMOVMSKB X1, stops      \
	PMOVMSKB X0, slashes

// MARKNEXT marks 16 bytes, and adds the marks to AX and BX.
#define MARKNEXT(offset) \
	MARK(offset, DX, R9) \
	SHLQ $offset, DX     \
	SHLQ $offset, R9     \
	ORQ  DX, AX          \
	ORQ  R9, BX

// FILL sets every byte of a register.
#define FILL(bytes, register) \
	MOVQ       $bytes, AX   \
	MOVQ       AX, register \
	PUNPCKLQDQ register, register

// func markStops(data *byte, words int, stops *byte, slashes *uint64) (high uint64)
//
// It uses SSE2, which every amd64 has.
TEXT ·markStops(SB), NOSPLIT, $0-40
	MOVQ data+0(FP), SI
	MOVQ words+8(FP), CX
	MOVQ stops+16(FP), DI
	MOVQ slashes+24(FP), R8
	FILL(0x2222222222222222, X8)
	FILL(0x1f1f1f1f1f1f1f1f, X9)
	FILL(0x5c5c5c5c5c5c5c5c, X10)
	PXOR X11, X11

next:
	MARK(0, AX, BX)
	MARKNEXT(16)
	MARKNEXT(32)
	MARKNEXT(48)
	MOVQ AX, (DI)
	MOVQ BX, (R8)
	ADDQ $64, SI
	ADDQ $8, DI
	ADDQ $8, R8
	DECQ CX
	JNZ  next

	PMOVMSKB X11, AX
	MOVQ     AX, high+32(FP)
	RET
