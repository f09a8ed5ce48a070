import { COMMON_CHEATS } from './cheats-common.ts'
import { CONFIG_CHEATS } from './cheats-config.ts'
import { LED_CHEATS } from './cheats-led.ts'
import { NODE_CHEATS } from './cheats-node.ts'
import { OTHER_CHEATS } from './cheats-other.ts'
import { REACH_CHEATS } from './cheats-reach.ts'
import { SIGN_CHEATS } from './cheats-signs.ts'
import type { Deed, HonestDeed } from './deed.ts'
import { NODE_HONEST } from './honest-node.ts'
import { OTHER_HONEST } from './honest-other.ts'

export const CHEATS: readonly Deed[] = [
  ...COMMON_CHEATS,
  ...CONFIG_CHEATS,
  ...NODE_CHEATS,
  ...OTHER_CHEATS,
  ...REACH_CHEATS,
  ...LED_CHEATS,
  ...SIGN_CHEATS,
]
export const HONEST: readonly HonestDeed[] = [...NODE_HONEST, ...OTHER_HONEST]
