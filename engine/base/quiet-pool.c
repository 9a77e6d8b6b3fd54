/* Linked into executables only. libgomp's waiting threads spin for milliseconds by default, which halves the
 * speed of every process that shares its cores; it reads its settings before main, hence this entry, which
 * runs earlier still. */
#include <stdlib.h>

static void calm(int argc, char **argv, char **environment)
{
  (void)argc;
  (void)argv;
  (void)environment;
  if (getenv("GOMP_SPINCOUNT") == NULL && getenv("OMP_WAIT_POLICY") == NULL)
    putenv((char *)"GOMP_SPINCOUNT=10000");
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(int, char **, char **) = calm;
