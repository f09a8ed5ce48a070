import { showBehaviours } from './behaviours.ts'
import { contestants } from './contestants.ts'

// Whoever has no file of its own.
showBehaviours(contestants().filter(({ harness }) => harness !== 'claude-code' && harness !== 'codex'))
