/* The page that the kernel maps into each process, where the clock is read without entering it. */
#ifndef VDSO_H
#define VDSO_H

/* Address of a function in the ELF image at base, or NULL. */
void *vdso_find(unsigned long base, const char *name);

#endif
