import { showBehaviours } from './behaviours.ts'
import { contestants } from './contestants.ts'

showBehaviours(contestants({ keptOlder: true }).filter(({ harness }) => harness === 'claude-code'))
