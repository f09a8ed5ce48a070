// Says and results what the test gives as JSON: { said?: string[], results?: object[], cwd?: string }.
import { init, print, result, said, testArguments } from './fake-claude-events.mjs'

const { said: texts = [], results = [], cwd } = JSON.parse(testArguments()[0])
print(init(cwd === undefined ? {} : { cwd }))
for (const [i, text] of texts.entries()) {
  const event = said(text)
  print({ ...event, uuid: `u${i}`, message: { ...event.message, id: `msg_${i}` } })
}
for (const { result: text, ...fields } of results) print(result(text, fields))
