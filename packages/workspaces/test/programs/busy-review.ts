// Discards, undoes, merges and goes back until it is killed. Arguments: the work folder, the folder of snapshots, journal.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import {
  commitFiles,
  discardChanges,
  FileMoves,
  findRepository,
  forScope,
  goBack,
  headTree,
  mergeIntoBase,
  takeSnapshot,
} from '../../src/index.ts'

const [folder = '', stateFolder = '', journal = '', branch = ''] = process.argv.slice(2)
const scope = 'session'
const found = await findRepository(folder)
if (found === undefined) throw new Error('no repository')
const repository = forScope(found, scope)
const moves = new FileMoves(repository, scope)
await moves.recover()
console.log('ready')
const files = Array.from({ length: 12 }, (_, i) => `src/${i}.txt`)
for (let round = 0; ; round += 1) {
  const before = (await takeSnapshot(repository, stateFolder)).tree
  const mark = `${process.pid} ${round}`
  for (const file of files) {
    const place = path.join(folder, file)
    writeFileSync(place, `${mark}\n${readFileSync(place, 'utf8')}`)
  }
  const after = (await takeSnapshot(repository, stateFolder)).tree
  // From here on these lines must be found: in the files, or in a ref.
  appendFileSync(journal, `${mark}\n`)
  const from = await headTree(repository)
  const all = files.map(file => ({ path: file }))
  const move = await discardChanges(repository, { from, to: after, stateFolder, scope, files: all })
  await moves.undo(move.id)
  const back = { turns: [{ before, after }], stateFolder, overwrite: [], what: 'Back' }
  const gone = await goBack(repository, moves, { ...back, cause: { kind: 'fork' } })
  if (gone) await moves.undo(gone.id)
  await commitFiles(repository, folder, { message: mark })
  await mergeIntoBase(repository, { branch, base: 'main', how: 'merge', message: 'Merge' })
}
