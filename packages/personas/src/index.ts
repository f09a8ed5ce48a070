export type { PersonaChange, PersonaSource } from './files/persona-editor.ts'
export { type ParsedRule, type PolicyEffect, type PolicyRule, parsePolicyRule } from './parse/policy-rule.ts'
export type {
  BrokenPersona,
  GoodPersona,
  PersonaConfig,
  PersonaEntry,
  PersonaPermissionMode,
  PersonaProblem,
} from './persona.ts'
export type { PersonaErrorCode } from './persona-error.ts'
export { PersonaError } from './persona-error.ts'
export { MAX_PERSONA_BYTES } from './persona-file.ts'
export type { ComposedPrompt, PersonaDraft, PromptChoices } from './persona-manager.ts'
export { PersonaManager } from './persona-manager.ts'
export type { AssembledPrompt, Truncation } from './prompt/assemble.ts'
export { MAX_PROMPT_TOKENS } from './prompt/assemble.ts'
export { type PersonaTurnOpts, personaTurnOpts, type ScopeCapabilities } from './turn-opts.ts'
