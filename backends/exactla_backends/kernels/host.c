/* The kernels for a host, compiled once for each instruction set; see xl_host.h. */
#include "host_scan.h"
#include "host_residues.h"
#include "host_intervals.h"
#include "host_special.h"
#include "host_results.h"
#include "host_small.h"
#include "host_systems.h"
#include "host_wide.h"
