export type { AgentSdkHarnessConfig } from './config.ts'
export { AgentSdkHarness } from './harness.ts'
export { mapDecision } from './runtime/decision-mapper.ts'
export { translateHook } from './runtime/event-translator.ts'
export type {
  RuntimeDecision,
  RuntimeEvent,
  RuntimeEventKind,
  RuntimeIntent,
} from './runtime/runtime-event.ts'
