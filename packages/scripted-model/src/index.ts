export { claudeEnv, codexArgs } from './agent-env.ts'
export { loadScript, parseScript, ScriptError, type ScriptProblem } from './parse-script.ts'
export type { RecordedRequest, WantedRequest } from './request-log.ts'
export type {
  Script,
  ScriptAnswer,
  ScriptBlock,
  ScriptFailure,
  ScriptReply,
  ScriptText,
  ScriptUsage,
  ScriptWhen,
  StopReason,
} from './script.ts'
export { type ScriptedModel, type ScriptedModelOptions, startScriptedModel } from './scripted-model.ts'
export type { SideKind } from './side-request.ts'
