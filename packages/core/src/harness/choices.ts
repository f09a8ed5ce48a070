import type { SessionMode } from '../session/session.ts'
import type { PermissionMode } from './harness.ts'

/** The label of a choice and its effect. */
export interface ChoiceWords {
  label: string
  consequence: string
}

/** The only texts for the permission modes; dashboard, command line and documents use them. */
export const PERMISSION_WORDS: Readonly<Record<PermissionMode, ChoiceWords>> = {
  default: {
    label: 'Ask before changes',
    consequence: 'Reads freely, and asks you before it edits a file or runs a command.',
  },
  acceptEdits: {
    label: 'Edit freely',
    consequence: 'Edits files of the project unasked, and asks you before other commands.',
  },
  auto: {
    label: 'A model decides',
    consequence: 'A model of its vendor allows or denies each call, and you are asked where it cannot say.',
  },
  dontAsk: {
    label: 'Only what rules allow',
    consequence: 'Never asks you: what no rule allows is denied.',
  },
  plan: {
    label: 'Plan only',
    consequence: 'Reads and writes a plan, and changes nothing.',
  },
  bypassPermissions: {
    label: 'Everything, unasked',
    consequence: 'Edits files and runs commands at once. Only a rule of yours can still deny one.',
  },
}

/** The personas package holds the instructions of each mode. */
export const MODE_WORDS: Readonly<Record<SessionMode, ChoiceWords>> = {
  workbench: {
    label: 'Explain as you go',
    consequence: 'Says how it reasons, and asks when something is unclear.',
  },
  pipeline: {
    label: 'Just do it',
    consequence: 'Works through to the end, asks little and reports briefly.',
  },
  direct: {
    label: 'Only what is asked',
    consequence: 'Does what you write, with as few words as possible.',
  },
}

/** The label of a mode. An unknown mode keeps its own name. */
export function permissionLabel(mode: string): string {
  return Object.hasOwn(PERMISSION_WORDS, mode) ? PERMISSION_WORDS[mode as PermissionMode].label : mode
}
