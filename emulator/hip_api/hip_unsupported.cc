// The rest of the HIP runtime API: each function says its name on stderr and returns
// hipErrorNotSupported, so that a program that calls one links and can carry on or say why not.
//
// HIP's own header is not included: these are C functions whose arguments are not looked at, so
// they need no signature of their own.

#include <cstdio>

namespace {

constexpr int kHipErrorNotSupported = 801;  // hip_runtime_api.h: hipErrorNotSupported

int Unsupported(const char* name) {
  std::fprintf(stderr, "%s: the emulator does not support this function\n", name);
  return kHipErrorNotSupported;
}

}  // namespace

// clang-format off
#define LANEWISE_UNSUPPORTED_FUNCTIONS(F) \
  F(hipArray3DCreate) F(hipArrayCreate) F(hipArrayDestroy) F(hipBindTexture) \
  F(hipBindTexture2D) F(hipBindTextureToArray) F(hipBindTextureToMipmappedArray) \
  F(hipChooseDevice) F(hipConfigureCall) F(hipCreateSurfaceObject) F(hipCreateTextureObject) \
  F(hipCtxCreate) F(hipCtxDestroy) F(hipCtxDisablePeerAccess) F(hipCtxEnablePeerAccess) \
  F(hipCtxGetApiVersion) F(hipCtxGetCacheConfig) F(hipCtxGetCurrent) F(hipCtxGetDevice) \
  F(hipCtxGetFlags) F(hipCtxGetSharedMemConfig) F(hipCtxPopCurrent) F(hipCtxPushCurrent) \
  F(hipCtxSetCacheConfig) F(hipCtxSetCurrent) F(hipCtxSetSharedMemConfig) F(hipCtxSynchronize) \
  F(hipDestroyExternalMemory) F(hipDestroyExternalSemaphore) F(hipDestroySurfaceObject) \
  F(hipDestroyTextureObject) F(hipDeviceDisablePeerAccess) F(hipDeviceEnablePeerAccess) \
  F(hipDeviceGetByPCIBusId) F(hipDeviceGetCacheConfig) F(hipDeviceGetDefaultMemPool) \
  F(hipDeviceGetLimit) F(hipDeviceGetMemPool) F(hipDeviceGetP2PAttribute) \
  F(hipDeviceGetPCIBusId) F(hipDeviceGetSharedMemConfig) F(hipDeviceGetUuid) \
  F(hipDevicePrimaryCtxGetState) F(hipDevicePrimaryCtxRelease) F(hipDevicePrimaryCtxReset) \
  F(hipDevicePrimaryCtxRetain) F(hipDevicePrimaryCtxSetFlags) F(hipDeviceSetCacheConfig) \
  F(hipDeviceSetMemPool) F(hipDeviceSetSharedMemConfig) F(hipDrvMemcpy2DUnaligned) \
  F(hipDrvMemcpy3D) F(hipDrvMemcpy3DAsync) F(hipDrvPointerGetAttributes) \
  F(hipExtGetLinkTypeAndHopCount) F(hipExtLaunchKernel) F(hipExtLaunchMultiKernelMultiDevice) \
  F(hipExtMallocWithFlags) F(hipExtStreamCreateWithCUMask) F(hipExtStreamGetCUMask) \
  F(hipExternalMemoryGetMappedBuffer) F(hipFreeArray) F(hipFreeMipmappedArray) \
  F(hipFuncGetAttributes) F(hipFuncSetCacheConfig) F(hipFuncSetSharedMemConfig) \
  F(hipGLGetDevices) F(hipGetChannelDesc) F(hipGetDeviceFlags) F(hipGetMipmappedArrayLevel) \
  F(hipGetTextureAlignmentOffset) F(hipGetTextureObjectResourceDesc) \
  F(hipGetTextureObjectResourceViewDesc) F(hipGetTextureObjectTextureDesc) \
  F(hipGraphAddChildGraphNode) F(hipGraphAddDependencies) F(hipGraphAddEmptyNode) \
  F(hipGraphAddEventRecordNode) F(hipGraphAddEventWaitNode) F(hipGraphAddHostNode) \
  F(hipGraphAddKernelNode) F(hipGraphAddMemcpyNode) F(hipGraphAddMemcpyNode1D) \
  F(hipGraphAddMemcpyNodeFromSymbol) F(hipGraphAddMemcpyNodeToSymbol) F(hipGraphAddMemsetNode) \
  F(hipGraphChildGraphNodeGetGraph) F(hipGraphClone) F(hipGraphCreate) F(hipGraphDestroy) \
  F(hipGraphDestroyNode) F(hipGraphEventRecordNodeGetEvent) F(hipGraphEventRecordNodeSetEvent) \
  F(hipGraphEventWaitNodeGetEvent) F(hipGraphEventWaitNodeSetEvent) \
  F(hipGraphExecChildGraphNodeSetParams) F(hipGraphExecDestroy) \
  F(hipGraphExecEventRecordNodeSetEvent) F(hipGraphExecEventWaitNodeSetEvent) \
  F(hipGraphExecHostNodeSetParams) F(hipGraphExecKernelNodeSetParams) \
  F(hipGraphExecMemcpyNodeSetParams) F(hipGraphExecMemcpyNodeSetParams1D) \
  F(hipGraphExecMemcpyNodeSetParamsFromSymbol) F(hipGraphExecMemcpyNodeSetParamsToSymbol) \
  F(hipGraphExecMemsetNodeSetParams) F(hipGraphExecUpdate) F(hipGraphGetEdges) \
  F(hipGraphGetNodes) F(hipGraphGetRootNodes) F(hipGraphHostNodeGetParams) \
  F(hipGraphHostNodeSetParams) F(hipGraphInstantiate) F(hipGraphInstantiateWithFlags) \
  F(hipGraphKernelNodeGetAttribute) F(hipGraphKernelNodeGetParams) \
  F(hipGraphKernelNodeSetAttribute) F(hipGraphKernelNodeSetParams) F(hipGraphLaunch) \
  F(hipGraphMemcpyNodeGetParams) F(hipGraphMemcpyNodeSetParams) \
  F(hipGraphMemcpyNodeSetParams1D) F(hipGraphMemcpyNodeSetParamsFromSymbol) \
  F(hipGraphMemcpyNodeSetParamsToSymbol) F(hipGraphMemsetNodeGetParams) \
  F(hipGraphMemsetNodeSetParams) F(hipGraphNodeFindInClone) F(hipGraphNodeGetDependencies) \
  F(hipGraphNodeGetDependentNodes) F(hipGraphNodeGetType) F(hipGraphRemoveDependencies) \
  F(hipGraphicsGLRegisterBuffer) F(hipGraphicsGLRegisterImage) F(hipGraphicsMapResources) \
  F(hipGraphicsResourceGetMappedPointer) F(hipGraphicsSubResourceGetMappedArray) \
  F(hipGraphicsUnmapResources) F(hipGraphicsUnregisterResource) F(hipHostGetFlags) \
  F(hipImportExternalMemory) F(hipImportExternalSemaphore) F(hipIpcCloseMemHandle) \
  F(hipIpcGetEventHandle) F(hipIpcGetMemHandle) F(hipIpcOpenEventHandle) F(hipIpcOpenMemHandle) \
  F(hipLaunchByPtr) F(hipLaunchCooperativeKernel) F(hipLaunchCooperativeKernelMultiDevice) \
  F(hipMalloc3D) F(hipMalloc3DArray) F(hipMallocArray) F(hipMallocFromPoolAsync) \
  F(hipMallocMipmappedArray) F(hipMemAddressFree) F(hipMemAddressReserve) F(hipMemAdvise) \
  F(hipMemAllocHost) F(hipMemAllocPitch) F(hipMemCreate) F(hipMemExportToShareableHandle) \
  F(hipMemGetAccess) F(hipMemGetAddressRange) F(hipMemGetAllocationGranularity) \
  F(hipMemGetAllocationPropertiesFromHandle) F(hipMemImportFromShareableHandle) F(hipMemMap) \
  F(hipMemMapArrayAsync) F(hipMemPoolCreate) F(hipMemPoolDestroy) F(hipMemPoolExportPointer) \
  F(hipMemPoolExportToShareableHandle) F(hipMemPoolGetAccess) F(hipMemPoolGetAttribute) \
  F(hipMemPoolImportFromShareableHandle) F(hipMemPoolImportPointer) F(hipMemPoolSetAccess) \
  F(hipMemPoolSetAttribute) F(hipMemPoolTrimTo) F(hipMemPrefetchAsync) F(hipMemPtrGetInfo) \
  F(hipMemRangeGetAttribute) F(hipMemRangeGetAttributes) F(hipMemRelease) \
  F(hipMemRetainAllocationHandle) F(hipMemSetAccess) F(hipMemUnmap) F(hipMemcpy2DFromArray) \
  F(hipMemcpy2DFromArrayAsync) F(hipMemcpy2DToArray) F(hipMemcpy2DToArrayAsync) F(hipMemcpy3D) \
  F(hipMemcpy3DAsync) F(hipMemcpyAtoH) F(hipMemcpyFromArray) F(hipMemcpyFromSymbolAsync) \
  F(hipMemcpyHtoA) F(hipMemcpyParam2D) F(hipMemcpyParam2DAsync) F(hipMemcpyPeer) \
  F(hipMemcpyPeerAsync) F(hipMemcpyToArray) F(hipMemcpyToSymbolAsync) F(hipMemset2D) \
  F(hipMemset2DAsync) F(hipMemset3D) F(hipMemset3DAsync) F(hipMipmappedArrayCreate) \
  F(hipMipmappedArrayDestroy) F(hipMipmappedArrayGetLevel) F(hipModuleGetTexRef) \
  F(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) \
  F(hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) \
  F(hipModuleOccupancyMaxPotentialBlockSize) \
  F(hipModuleOccupancyMaxPotentialBlockSizeWithFlags) \
  F(hipOccupancyMaxActiveBlocksPerMultiprocessor) \
  F(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) F(hipOccupancyMaxPotentialBlockSize) \
  F(hipPointerGetAttribute) F(hipProfilerStart) F(hipProfilerStop) \
  F(hipRegisterActivityCallback) F(hipRegisterApiCallback) F(hipRemoveActivityCallback) \
  F(hipRemoveApiCallback) F(hipSetDeviceFlags) F(hipSetupArgument) \
  F(hipSignalExternalSemaphoresAsync) F(hipStreamAttachMemAsync) F(hipStreamBeginCapture) \
  F(hipStreamEndCapture) F(hipStreamGetCaptureInfo) F(hipStreamGetCaptureInfo_v2) \
  F(hipStreamUpdateCaptureDependencies) F(hipStreamWaitValue32) F(hipStreamWaitValue64) \
  F(hipStreamWriteValue32) F(hipStreamWriteValue64) F(hipTexObjectCreate) \
  F(hipTexObjectDestroy) F(hipTexObjectGetResourceDesc) F(hipTexObjectGetResourceViewDesc) \
  F(hipTexObjectGetTextureDesc) F(hipTexRefGetAddress) F(hipTexRefGetAddressMode) \
  F(hipTexRefGetFilterMode) F(hipTexRefGetFlags) F(hipTexRefGetFormat) \
  F(hipTexRefGetMaxAnisotropy) F(hipTexRefGetMipMappedArray) F(hipTexRefGetMipmapFilterMode) \
  F(hipTexRefGetMipmapLevelBias) F(hipTexRefGetMipmapLevelClamp) F(hipTexRefSetAddress) \
  F(hipTexRefSetAddress2D) F(hipTexRefSetAddressMode) F(hipTexRefSetArray) \
  F(hipTexRefSetBorderColor) F(hipTexRefSetFilterMode) F(hipTexRefSetFlags) \
  F(hipTexRefSetFormat) F(hipTexRefSetMaxAnisotropy) F(hipTexRefSetMipmapFilterMode) \
  F(hipTexRefSetMipmapLevelBias) F(hipTexRefSetMipmapLevelClamp) F(hipTexRefSetMipmappedArray) \
  F(hipThreadExchangeStreamCaptureMode) F(hipUnbindTexture) F(hipWaitExternalSemaphoresAsync)
// clang-format on

#define LANEWISE_UNSUPPORTED(name) \
  extern "C" int name() { return Unsupported(#name); }
LANEWISE_UNSUPPORTED_FUNCTIONS(LANEWISE_UNSUPPORTED)
