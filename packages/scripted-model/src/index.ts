export type { ModelEndpoint } from './agent-env.ts'
export { claudeEnv, codexArgs } from './agent-env.ts'
export type { RecordedRequest, WantedRequest } from './request/request-log.ts'
export { loadScript, parseScript, ScriptError, type ScriptProblem } from './script/parse-script.ts'
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
} from './script/script.ts'
export type { SideKind } from './script/side-request.ts'
export { type ScriptedModel, type ScriptedModelOptions, startScriptedModel } from './scripted-model.ts'
