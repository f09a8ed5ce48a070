import { showBehaviours } from './behaviours.ts'
import { contestants } from './contestants.ts'

showBehaviours(contestants().filter(({ harness }) => harness === 'codex'))
