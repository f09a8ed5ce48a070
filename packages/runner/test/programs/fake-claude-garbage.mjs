// Prints a turn between lines that are no events at all.
import { init, print, printText, result, said } from './fake-claude-events.mjs'

printText('\uFEFFWelcome to the agent!\n')
print(init())
print('{"type":"assistant","message":')
printText('\n   \n\r\n')
print('[1, 2')
print('null')
print('"just text"')
print(said('Still here.'))
printText('{"type":"resu\n')
print(result('Still here.'))
printText('no newline at the end')
