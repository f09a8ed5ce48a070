// A scripted model in a process of its own, for a test that is blocked while it is asked. Prints its address.
import { startScriptedModel } from '@chirality/scripted-model'

const model = await startScriptedModel(JSON.parse(process.argv[2] ?? '{}'))
process.stdout.write(`${model.url}\n`)
process.stdin.resume()
process.stdin.on('end', () => model.close())
