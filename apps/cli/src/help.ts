export const HELP = `Usage: chirality <command> [options]

  run [PROMPT|-]           One turn of an agent, streamed. "-" reads the prompt from stdin.
      --project DIR          Where the agent works (default: this folder)
      --harness ID           Which agent (default: claude-code)
      --model M              Model name or alias
      --session ID           Continue an earlier session; each run shows its id
      --mode M               direct, the only one so far
      --permission-mode M    default, acceptEdits, dontAsk, plan or bypassPermissions (default: dontAsk)
      --tools LIST           Tools the agent may see: names, "default" (the default) or "" for none
      --allow LIST           Tools that run without asking, e.g. "Read,Bash(git *)"
      --max-turns N          Most rounds of model and tools (default: 25)
      --timeout S            Stop the turn after S seconds
      --json                 One envelope a line on stdout
  doctor                   What is installed, what is logged in, what to do
      --project DIR  --json
  translate [FILE|-]       An agent's raw NDJSON to UI events, one a line
      --harness ID           Which agent wrote it (default: claude-code)
  scripted-model           A model server on loopback that answers from a script
      --script FILE          JSON or YAML
      --port N               Default: any free port
      --json                 First line: {"url","port","pid"}

  --help, --version
  An argument that begins with a dash goes after "--": chirality run -- "--help me"

Exit codes: 0 done, 1 the turn failed, 2 wrong usage, 3 the agent is not installed, 4 not logged in,
5 budget or turn limit reached, 130 interrupted.
`
