/* Writes the list of a newly compiled probe: write_fits ROOT RELEASE HEADERS OUTPUT. */
#include "profiler/fits/fits.h"

int main(int count, char** arguments) {
  if (count != 5) return 2;
  FILE* headers = fopen(arguments[3], "r");
  FILE* list = fopen(arguments[4], "w");
  if (headers == NULL || list == NULL || tapelens_write_fits(arguments[1], arguments[2], headers, list) != 0) {
    fprintf(stderr, "write_fits: %s cannot be read, or %s cannot be written\n", arguments[3], arguments[4]);
    return 1;
  }
  return fclose(list) != 0;
}
