// Answers and stays. With `task`, something runs in the background for as long as it does.
import { init, print, result, SESSION, testArguments } from './fake-claude-events.mjs'

print(init())
if (testArguments().includes('task')) {
  print({
    type: 'system',
    subtype: 'task_started',
    task_id: 't1',
    description: 'server',
    session_id: SESSION,
  })
}
print(result('Answered.'))
setInterval(() => {}, 1_000_000)
