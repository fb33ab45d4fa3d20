/* The program behind the entry point. */
#ifndef MAIN_H
#define MAIN_H

int rackprobe(int argc, char **argv);

#endif
