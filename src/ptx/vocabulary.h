// SPDX-License-Identifier: Apache-2.0
/// \file
/// The words of PTX, each spelled once: opcodes, types, suffixes, special registers.
///
/// A list entry is (Enumerator, "spelling"). Adding a word here is all the parser needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cuco::ptx {

// clang-format off
#define CUCO_PTX_OPCODES(X) \
  X(Abs,"abs") X(Activemask,"activemask") X(Add,"add") X(Addc,"addc") X(Alloca,"alloca") X(And,"and") \
  X(Applypriority,"applypriority") X(Atom,"atom") X(Bar,"bar") X(Barrier,"barrier") X(Bfe,"bfe") X(Bfi,"bfi") \
  X(Bfind,"bfind") X(Bmsk,"bmsk") X(Bra,"bra") X(Brev,"brev") X(Brkpt,"brkpt") X(Brx,"brx") X(Call,"call") \
  X(Clz,"clz") X(Cnot,"cnot") X(Copysign,"copysign") X(Cos,"cos") X(Cp,"cp") X(Createpolicy,"createpolicy") \
  X(Cvt,"cvt") X(Cvta,"cvta") X(Discard,"discard") X(Div,"div") X(Dp2a,"dp2a") X(Dp4a,"dp4a") X(Elect,"elect") \
  X(Ex2,"ex2") X(Exit,"exit") X(Fence,"fence") X(Fma,"fma") X(Fns,"fns") X(Getctarank,"getctarank") \
  X(Griddepcontrol,"griddepcontrol") X(Isspacep,"isspacep") X(Ld,"ld") X(Ldmatrix,"ldmatrix") X(Ldu,"ldu") \
  X(Lg2,"lg2") X(Lop3,"lop3") X(Mad,"mad") X(Mad24,"mad24") X(Madc,"madc") X(Mapa,"mapa") X(Match,"match") \
  X(Max,"max") X(Mbarrier,"mbarrier") X(Membar,"membar") X(Min,"min") X(Mma,"mma") X(Mov,"mov") \
  X(Movmatrix,"movmatrix") X(Mul,"mul") X(Mul24,"mul24") X(Multimem,"multimem") X(Nanosleep,"nanosleep") \
  X(Neg,"neg") X(Not,"not") X(Or,"or") X(Pmevent,"pmevent") X(Popc,"popc") X(Prefetch,"prefetch") \
  X(Prefetchu,"prefetchu") X(Prmt,"prmt") X(Rcp,"rcp") X(Red,"red") X(Redux,"redux") X(Rem,"rem") X(Ret,"ret") \
  X(Rsqrt,"rsqrt") X(Sad,"sad") X(Selp,"selp") X(Set,"set") X(Setmaxnreg,"setmaxnreg") X(Setp,"setp") \
  X(Shf,"shf") X(Shfl,"shfl") X(Shl,"shl") X(Shr,"shr") X(Sin,"sin") X(Slct,"slct") X(Sqrt,"sqrt") X(St,"st") \
  X(Stackrestore,"stackrestore") X(Stacksave,"stacksave") X(Stmatrix,"stmatrix") X(Sub,"sub") X(Subc,"subc") \
  X(Szext,"szext") X(Tanh,"tanh") X(Testp,"testp") X(Tex,"tex") X(Trap,"trap") X(Vabsdiff,"vabsdiff") \
  X(Vabsdiff2,"vabsdiff2") X(Vabsdiff4,"vabsdiff4") X(Vadd,"vadd") X(Vadd2,"vadd2") X(Vadd4,"vadd4") \
  X(Vavrg2,"vavrg2") X(Vavrg4,"vavrg4") X(Vmad,"vmad") X(Vmax,"vmax") X(Vmax2,"vmax2") X(Vmax4,"vmax4") \
  X(Vmin,"vmin") X(Vmin2,"vmin2") X(Vmin4,"vmin4") X(Vote,"vote") X(Vset,"vset") X(Vset2,"vset2") \
  X(Vset4,"vset4") X(Vshl,"vshl") X(Vshr,"vshr") X(Vsub,"vsub") X(Vsub2,"vsub2") X(Vsub4,"vsub4") \
  X(Wgmma,"wgmma") X(Wmma,"wmma") X(Xor,"xor")

#define CUCO_PTX_TYPES(X) \
  X(Pred,"pred") X(B1,"b1") X(B8,"b8") X(B16,"b16") X(B32,"b32") X(B64,"b64") X(B128,"b128") \
  X(U4,"u4") X(U8,"u8") X(U16,"u16") X(U32,"u32") X(U64,"u64") X(S4,"s4") X(S8,"s8") X(S16,"s16") X(S32,"s32") \
  X(S64,"s64") X(U16x2,"u16x2") X(S16x2,"s16x2") X(F16,"f16") X(F16x2,"f16x2") X(Bf16,"bf16") X(Bf16x2,"bf16x2") \
  X(Tf32,"tf32") X(F32,"f32") X(F32x2,"f32x2") X(F64,"f64") X(E4m3,"e4m3") X(E5m2,"e5m2") X(E4m3x2,"e4m3x2") \
  X(E5m2x2,"e5m2x2") X(E2m1x2,"e2m1x2") X(E2m3x2,"e2m3x2") X(E3m2x2,"e3m2x2") X(Ue8m0x2,"ue8m0x2")

#define CUCO_PTX_MODIFIERS(X) \
  X(Rn,"rn") X(Rz,"rz") X(Rm,"rm") X(Rp,"rp") X(Rna,"rna") X(Rs,"rs") X(Rni,"rni") X(Rzi,"rzi") X(Rmi,"rmi") X(Rpi,"rpi") \
  X(Ftz,"ftz") X(Sat,"sat") X(Satfinite,"satfinite") X(Relu,"relu") X(Pack,"pack") X(Shr7,"shr7") X(Shr15,"shr15") X(Noftz,"noftz") X(Approx,"approx") X(Full,"full") \
  X(Lo,"lo") X(Hi,"hi") X(Wide,"wide") X(Cc,"cc") X(Uni,"uni") X(To,"to") \
  X(Eq,"eq") X(Ne,"ne") X(Lt,"lt") X(Le,"le") X(Gt,"gt") X(Ge,"ge") X(Ls,"ls") X(Hs,"hs") X(Equ,"equ") X(Neu,"neu") \
  X(Ltu,"ltu") X(Leu,"leu") X(Gtu,"gtu") X(Geu,"geu") X(Num,"num") X(Nan,"NaN") X(NanTest,"nan") \
  X(AbsMod,"abs") X(Xorsign,"xorsign") X(Finite,"finite") X(Infinite,"infinite") X(Number,"number") \
  X(Notanumber,"notanumber") X(Normal,"normal") X(Subnormal,"subnormal") \
  X(L,"l") X(R,"r") X(Wrap,"wrap") X(Clamp,"clamp") X(Shiftamt,"shiftamt") X(F4e,"f4e") X(B4e,"b4e") X(Rc8,"rc8") \
  X(Ecl,"ecl") X(Ecr,"ecr") X(Rc16,"rc16") X(V2,"v2") X(V4,"v4") X(V8,"v8") \
  X(Const,"const") X(Global,"global") X(Local,"local") X(Param,"param") X(ParamEntry,"param::entry") X(ParamFunc,"param::func") \
  X(Shared,"shared") X(SharedCta,"shared::cta") X(SharedCluster,"shared::cluster") X(Generic,"generic") \
  X(Weak,"weak") X(Volatile,"volatile") X(Relaxed,"relaxed") X(Acquire,"acquire") X(Release,"release") X(AcqRel,"acq_rel") \
  X(Sc,"sc") X(Mmio,"mmio") X(Cta,"cta") X(Cluster,"cluster") X(Gpu,"gpu") X(Sys,"sys") X(Gl,"gl") \
  X(Nc,"nc") X(Ca,"ca") X(Cg,"cg") X(Cs,"cs") X(Lu,"lu") X(Cv,"cv") X(Wb,"wb") X(Wt,"wt") \
  X(L1EvictNormal,"L1::evict_normal") X(L1EvictUnchanged,"L1::evict_unchanged") X(L1EvictFirst,"L1::evict_first") \
  X(L1EvictLast,"L1::evict_last") X(L1NoAllocate,"L1::no_allocate") X(L2EvictLast,"L2::evict_last") \
  X(L2EvictNormal,"L2::evict_normal") X(L2EvictFirst,"L2::evict_first") X(L2CacheHint,"L2::cache_hint") \
  X(L264B,"L2::64B") X(L2128B,"L2::128B") X(L2256B,"L2::256B") X(L2,"L2") X(L1,"L1") X(Unified,"unified") \
  X(Aligned,"aligned") X(Sync,"sync") X(Warp,"warp") X(Arrive,"arrive") X(Red,"red") X(All,"all") X(Any,"any") X(Ballot,"ballot") \
  X(Up,"up") X(Down,"down") X(Bfly,"bfly") X(Idx,"idx") X(Exch,"exch") X(Cas,"cas") X(Inc,"inc") X(Dec,"dec") \
  X(Min,"min") X(Max,"max") X(Add,"add") X(And,"and") X(Or,"or") X(Xor,"xor") X(Popc,"popc") \
  X(Async,"async") X(Bulk,"bulk") X(Tensor,"tensor") X(CommitGroup,"commit_group") X(WaitGroup,"wait_group") X(WaitAll,"wait_all") \
  X(Read,"read") X(BulkGroup,"bulk_group") X(Reduce,"reduce") X(Mbarrier,"mbarrier") X(MbarrierInit,"mbarrier_init") X(TryWait,"try_wait") \
  X(TestWait,"test_wait") X(ExpectTx,"expect_tx") X(CompleteTx,"complete_tx") X(ArriveDrop,"arrive_drop") X(Init,"init") \
  X(Inval,"inval") X(Noinc,"noinc") X(NoComplete,"noComplete") X(PendingCount,"pending_count") X(Parity,"parity") X(Proxy,"proxy") \
  X(Alias,"alias") X(ProxyTensormap,"tensormap::generic") X(MbarrierCompleteTxBytes,"mbarrier::complete_tx::bytes") \
  X(MbarrierArriveOne,"mbarrier::arrive::one") X(MulticastCluster,"multicast::cluster") X(Tile,"tile") X(Im2col,"im2col") \
  X(Dim1,"1d") X(Dim2,"2d") X(Dim3,"3d") X(Dim4,"4d") X(Dim5,"5d") \
  X(Row,"row") X(Col,"col") X(Load,"load") X(Store,"store") X(Mma,"mma") X(MmaAsync,"mma_async") X(A,"a") X(B,"b") X(C,"c") X(D,"d") \
  X(FenceMod,"fence") X(LdReduce,"ld_reduce") X(St,"st") X(AccF32,"acc::f32") X(AccF16,"acc::f16") X(Sp,"sp") \
  X(SpOrdered,"sp::ordered_metadata") X(Trans,"trans") X(X1,"x1") X(X2,"x2") X(X4,"x4") X(M8n8,"m8n8") X(M16n16,"m16n16") X(M8n16,"m8n16") \
  X(M8n8k4,"m8n8k4") X(M8n8k16,"m8n8k16") X(M8n8k32,"m8n8k32") X(M8n8k128,"m8n8k128") X(M16n8k4,"m16n8k4") X(M16n8k8,"m16n8k8") \
  X(M16n8k16,"m16n8k16") X(M16n8k32,"m16n8k32") X(M16n8k64,"m16n8k64") X(M16n8k128,"m16n8k128") X(M16n8k256,"m16n8k256") \
  X(M16n16k16,"m16n16k16") X(M16n16k8,"m16n16k8") X(M32n8k16,"m32n8k16") X(M8n32k16,"m8n32k16") \
  X(LaunchDependents,"launch_dependents") X(Wait,"wait") X(H0,"h0") X(H1,"h1") X(B0,"b0") X(B2,"b2") X(B3,"b3") \
  X(SyncRestrict,"sync_restrict")

#define CUCO_PTX_SPECIAL_REGISTERS(X) \
  X(TidX,"%tid.x") X(TidY,"%tid.y") X(TidZ,"%tid.z") X(NtidX,"%ntid.x") X(NtidY,"%ntid.y") X(NtidZ,"%ntid.z") \
  X(CtaidX,"%ctaid.x") X(CtaidY,"%ctaid.y") X(CtaidZ,"%ctaid.z") X(NctaidX,"%nctaid.x") X(NctaidY,"%nctaid.y") \
  X(NctaidZ,"%nctaid.z") X(Laneid,"%laneid") X(Warpid,"%warpid") X(Nwarpid,"%nwarpid") X(Smid,"%smid") X(Nsmid,"%nsmid") \
  X(Gridid,"%gridid") X(LanemaskEq,"%lanemask_eq") X(LanemaskLe,"%lanemask_le") X(LanemaskLt,"%lanemask_lt") \
  X(LanemaskGe,"%lanemask_ge") X(LanemaskGt,"%lanemask_gt") X(Clock,"%clock") X(ClockHi,"%clock_hi") X(Clock64,"%clock64") \
  X(Globaltimer,"%globaltimer") X(GlobaltimerLo,"%globaltimer_lo") X(GlobaltimerHi,"%globaltimer_hi") \
  X(TotalSmemSize,"%total_smem_size") X(AggrSmemSize,"%aggr_smem_size") X(DynamicSmemSize,"%dynamic_smem_size") \
  X(Envreg0,"%envreg0") X(Envreg1,"%envreg1") X(Envreg2,"%envreg2") X(Envreg3,"%envreg3") \
  X(IsExplicitCluster,"%is_explicit_cluster") X(ClusteridX,"%clusterid.x") X(ClusteridY,"%clusterid.y") X(ClusteridZ,"%clusterid.z") \
  X(NclusteridX,"%nclusterid.x") X(NclusteridY,"%nclusterid.y") X(NclusteridZ,"%nclusterid.z") \
  X(ClusterCtaidX,"%cluster_ctaid.x") X(ClusterCtaidY,"%cluster_ctaid.y") X(ClusterCtaidZ,"%cluster_ctaid.z") \
  X(ClusterNctaidX,"%cluster_nctaid.x") X(ClusterNctaidY,"%cluster_nctaid.y") X(ClusterNctaidZ,"%cluster_nctaid.z") \
  X(ClusterCtarank,"%cluster_ctarank") X(ClusterNctarank,"%cluster_nctarank") X(CurrentGraphExec,"%current_graph_exec") \
  X(ReservedSmemOffsetBegin,"%reserved_smem_offset_begin") X(ReservedSmemOffsetEnd,"%reserved_smem_offset_end") \
  X(ReservedSmemOffsetCap,"%reserved_smem_offset_cap") X(ReservedSmemOffset0,"%reserved_smem_offset_0") \
  X(ReservedSmemOffset1,"%reserved_smem_offset_1")
// clang-format on

#define CUCO_PTX_ENUMERATOR(name, spelling) name,
enum class Opcode : std::uint8_t { Unknown, CUCO_PTX_OPCODES(CUCO_PTX_ENUMERATOR) };
enum class Type : std::uint8_t { None, CUCO_PTX_TYPES(CUCO_PTX_ENUMERATOR) };
enum class Modifier : std::uint8_t { Unknown, CUCO_PTX_MODIFIERS(CUCO_PTX_ENUMERATOR) };
enum class SpecialRegister : std::uint8_t { None, CUCO_PTX_SPECIAL_REGISTERS(CUCO_PTX_ENUMERATOR) };
#undef CUCO_PTX_ENUMERATOR

/// Looks a word up; Unknown / nullopt if PTX has no such word (or we do not know it).
[[nodiscard]] Opcode find_opcode(std::string_view word);
[[nodiscard]] Modifier find_modifier(std::string_view word);
[[nodiscard]] std::optional<Type> find_type(std::string_view word);
[[nodiscard]] std::optional<SpecialRegister> find_special_register(std::string_view word);

[[nodiscard]] std::string_view spelling(Opcode opcode);
[[nodiscard]] std::string_view spelling(Modifier modifier);
[[nodiscard]] std::string_view spelling(Type type);
[[nodiscard]] std::string_view spelling(SpecialRegister special);

/// Bytes one element occupies in memory; packed types as a whole. Pred: 1.
[[nodiscard]] std::uint32_t size_of(Type type);

}  // namespace cuco::ptx
