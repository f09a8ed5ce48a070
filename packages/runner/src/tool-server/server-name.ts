// A file of its own: whoever imports the name must not need the types of the MCP SDK.
export const TOOL_SERVER_NAME = '__harness_client_tools'
