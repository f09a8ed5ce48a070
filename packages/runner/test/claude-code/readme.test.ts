import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { claudeBinaries } from '@chirality/fixtures'
import { claudeEnv, type Script } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../../.scripts/readme-example.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const packageFolder = fileURLToPath(new URL('../..', import.meta.url))

test.each(claudeBinaries())(
  'the example in the README runs with Claude Code $version',
  async ({ path: binary }) => {
    const file = 'hello.txt'
    const model = await serve({
      answers: [
        { tool: 'Write', input: { file_path: file, content: 'hello' } },
        'Created.',
        'I created hello.txt.',
      ],
    })
    const env = { ...claudeEnv(model, world.home), CHIRALITY_CLAUDE_BIN: binary }
    const [run, ...others] = runReadmeExamples(packageFolder, env)
    await model.close()
    expect(others).toEqual([])
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(run?.stdout).toMatch(/^\[done\]\nCreated\.\n\$0\.\d+\nI created hello\.txt\.\n\$0\.\d+\n$/)
  },
)

/** The example blocks this process, so its model has one of its own. */
async function serve(script: Script): Promise<{ url: string; close(): Promise<unknown> }> {
  const program = fileURLToPath(new URL('../programs/serve-script.ts', import.meta.url))
  const args = ['--import', 'tsx', '--conditions=@chirality/source', program, JSON.stringify(script)]
  const child = spawn(process.execPath, args, { cwd: packageFolder, stdio: ['pipe', 'pipe', 'inherit'] })
  const [url] = await once(child.stdout.setEncoding('utf8'), 'data')
  const close = () => {
    child.stdin.end()
    return once(child, 'exit')
  }
  return { url: String(url).trim(), close }
}
