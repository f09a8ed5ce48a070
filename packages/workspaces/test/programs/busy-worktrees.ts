// Makes, fills, removes and restores worktrees until it is killed. Arguments: the folder of the worktrees, the project.
import { execFileSync } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Worktrees } from '../../src/worktrees/worktrees.ts'

const [folder = '', projectRoot = '', journal = ''] = process.argv.slice(2)
const worktrees = new Worktrees(folder)
await worktrees.recover()
console.log('ready')
for (let round = 0; ; round += 1) {
  const { worktree } = await worktrees.make({ projectRoot, title: 'kill me' })
  const { id } = worktree
  const text = `${id} ${round}\n`
  writeFileSync(path.join(worktree.folder, 'work.txt'), text)
  execFileSync('git', ['-C', worktree.folder, 'add', 'work.txt'])
  writeFileSync(path.join(worktree.folder, 'work.txt'), `${text}more\n`)
  // From here on the text must be found, in the worktree or in what is kept of it.
  appendFileSync(journal, `${JSON.stringify({ id, text: `${text}more\n` })}\n`)
  await worktrees.remove(id)
  if (round % 2 === 0) await worktrees.restore(id)
}
