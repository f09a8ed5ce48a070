// Changes one of the files that several processes share, as its input says (`<file>\t<home>\t<project>`), and answers each
// line: several of these do so at the same moment.
import { createInterface } from 'node:readline'
import { SHARED_FILES } from '../support/shared-files.ts'

const [, , who = ''] = process.argv
process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  const [file = '', home = '', project = ''] = line.split('\t')
  const done = await SHARED_FILES[file]?.change({ home, project }, who).then(() => 'done', String)
  process.stdout.write(`${done}\n`)
}
