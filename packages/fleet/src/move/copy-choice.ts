import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { write } from '../engine/fleet-files.ts'
import { fleetError } from '../fleet-error.ts'

const stored = z.object({ send: z.boolean() })

/**
 * Whether this machine sends copies of its sessions to the hubs. Without copies no machine can continue them when it is
 * gone.
 */
export class CopyChoice {
  readonly #file: string
  /** True if this run was started without copies. */
  readonly isFixed: boolean
  #send: boolean

  constructor(file: string, isFixed: boolean) {
    this.#file = file
    this.isFixed = isFixed
    this.#send = read(file)
  }

  get sends(): boolean {
    return this.#send && !this.isFixed
  }

  /** Resolves when the choice is on the disk. */
  async choose(send: boolean): Promise<void> {
    if (this.isFixed)
      throw fleetError(
        'fleet-refused',
        'This server was started with --no-copies. Start it without the option to send copies.',
      )
    await write(this.#file, JSON.stringify({ send } satisfies z.infer<typeof stored>))
    this.#send = send
  }
}

/** A missing file means that copies are sent. A damaged one means no, because it may have said so. */
function read(file: string): boolean {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
  try {
    return stored.parse(JSON.parse(text)).send
  } catch {
    return false
  }
}
