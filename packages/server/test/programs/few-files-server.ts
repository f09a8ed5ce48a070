// A server that is left with few file descriptors: `few-files-server.ts OPTIONS`. A line with a number on its input takes
// all but so many; an empty line gives them back. Each is answered with a line.
import { closeSync, openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry, MessagesApiHarness } from '@chirality/runner'
import { startServer } from '../../src/index.ts'

export interface FewFilesOptions {
  project: string
  home: string
  environment: Record<string, string>
}

const { project, home, environment }: FewFilesOptions = JSON.parse(process.argv[2] ?? '{}')
const harnesses = new HarnessRegistry<SessionHarness>()
harnesses.register(new MessagesApiHarness({ environment }))
const { url, token } = await startServer({ harnesses, projects: [project], home, port: 0, onFault: () => {} })
const taken: number[] = []
const say = (value: unknown) => writeSync(1, `${JSON.stringify(value)}\n`)
createInterface(process.stdin).on('line', line => {
  for (const fd of taken.splice(0)) closeSync(fd)
  if (line === '') return say('free')
  try {
    while (true) taken.push(openSync('/dev/null', 'r'))
  } catch {
    for (const fd of taken.splice(0, Number(line))) closeSync(fd)
  }
  say('few')
})
say({ url, token })
