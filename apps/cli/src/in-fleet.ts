import { existsSync } from 'node:fs'
import path from 'node:path'
import { userDataFolder } from '@chirality/sessions'

/** Whether this machine is in a fleet. Nothing of a fleet is loaded without one. */
export function isInFleet(): boolean {
  return existsSync(path.join(userDataFolder(), 'fleet'))
}
