/* All kernels for a device, as OpenCL C and for NVRTC, each in one of these files. */
#include "device_scan.h"
#include "device_residues.h"
#include "device_results.h"
#include "device_intervals.h"
#include "device_copies.h"
