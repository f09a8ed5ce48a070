// Records the files of a turn, takes every file descriptor, and asks for the record.
import { closeSync, openSync, writeSync } from 'node:fs'
import { errnoOf } from '@chirality/disk'
import { TurnTrees } from '../../src/turns/turn-trees.ts'

const [root = ''] = process.argv.slice(2)
const trees = new TurnTrees()
const begun = (turnId: string) => ({
  sessionId: 'session',
  turnId,
  when: 'before' as const,
  tree: 'a'.repeat(40),
  at: 1,
})
await trees.write(root, begun('first'))
const taken: number[] = []
try {
  while (true) taken.push(openSync('/dev/null', 'r'))
} catch {
  // None left.
}
const codeOf = (error: unknown) => errnoOf(error) ?? String(error)
const reading = await trees.read(root, 'session', 'first').then(found => found ?? 'taken for empty', codeOf)
const written = await trees.write(root, begun('second')).then(() => 'written', codeOf)
for (const fd of taken) closeSync(fd)
await trees.write(root, begun('third'))
const kept = [...(await trees.all(root, 'session')).keys()]
writeSync(1, JSON.stringify({ reading, written, kept }))
