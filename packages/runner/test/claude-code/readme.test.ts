import { fileURLToPath } from 'node:url'
import { claudeVersions } from '@chirality/fixtures'
import { claudeEnv } from '@chirality/scripted-model'
import { expect, test } from 'vitest'
import { runReadmeExamples } from '../../../../.scripts/readme-example.ts'
import { serveScript } from '../support/serve-script.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const packageFolder = fileURLToPath(new URL('../..', import.meta.url))

test.each(claudeVersions())(
  'the example in the README runs with Claude Code $version',
  async ({ path: binary }) => {
    const file = 'hello.txt'
    const model = await serveScript({
      answers: [
        { tool: 'Write', input: { file_path: file, content: 'hello' } },
        'Created.',
        'I created hello.txt.',
      ],
    })
    const env = { ...claudeEnv(model, world.home), CHIRALITY_CLAUDE_BIN: binary }
    const [run, ...others] = await runReadmeExamples(packageFolder, env)
    await model.close()
    expect(others).toEqual([])
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(run?.stdout).toMatch(/^\[done\]\nCreated\.\n\$0\.\d+\nI created hello\.txt\.\n\$0\.\d+\n$/)
  },
)
