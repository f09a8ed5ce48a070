// Takes turns with many files back, and undoes that, until it is killed. Arguments: the work folder, the folder of snapshots,
// the number of files, and a file that says whether the agent is writing.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { FileMoves, findRepository, forScope, goBack, takeSnapshot } from '../../src/index.ts'

const [folder = '', stateFolder = '', count = '', state = ''] = process.argv.slice(2)
const scope = 'session'
const found = await findRepository(folder)
if (found === undefined) throw new Error('no repository')
const repository = forScope(found, scope)
const moves = new FileMoves(repository, scope)
await moves.recover()
const files = Array.from({ length: Number(count) }, (_, i) => path.join(folder, `src/${i}.txt`))
const contents = files.map(file => readFileSync(file, 'utf8'))
if (existsSync(state) && readFileSync(state, 'utf8') === 'written' && new Set(contents).size > 1)
  throw new Error('Some files went back, and others not.')
const writeAll = (round: number) => {
  writeFileSync(state, 'writing')
  for (const file of files) writeFileSync(file, `${round}\n`)
  writeFileSync(state, 'written')
}
const last = Math.max(...contents.map(Number))
writeAll(last)
console.log('ready')
for (let round = last + 1; ; round += 1) {
  const before = (await takeSnapshot(repository, stateFolder)).tree
  writeAll(round)
  const after = (await takeSnapshot(repository, stateFolder)).tree
  const back = { turns: [{ before, after }], stateFolder, overwrite: [], what: 'Back' }
  for (let times = 0; times < 3; times += 1) {
    const gone = await goBack(repository, moves, { ...back, cause: { kind: 'fork' } })
    if (gone === null) throw new Error('Nothing went back.')
    await moves.undo(gone.id)
  }
}
