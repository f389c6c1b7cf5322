"""Uses a server by the Python client of the protocol: both transports, each revision."""

import asyncio
import sys

from mcp import Client, StdioServerParameters

URL, BINARY, STORE = sys.argv[1:]
STDIO = StdioServerParameters(command=BINARY, args=["--words-only", "--store", STORE, "mcp"])


async def use(server, mode):
    async with Client(server, mode=mode) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"search_memory", "expand_node", "browse_hierarchy"} <= tools, tools
        node = await client.call_tool("expand_node", {"conversation_id": "trip", "node_id": 7})
        assert not node.is_error and "platform 9" in node.structured_content["text"], node
        missing = await client.call_tool("expand_node", {"conversation_id": "trip", "node_id": 999})
        assert missing.is_error and missing.content[0].text.startswith("Node 999 not found"), missing
        seen, cursor = [], None
        while True:
            arguments = {"conversation_id": "trip", "level": 0, "max_tokens": 4000}
            page = (await client.call_tool("browse_hierarchy", arguments | ({"cursor": cursor} if cursor else {})))
            seen += [entry["nodes"][0] for entry in page.structured_content["entries"]]
            cursor = page.structured_content.get("next_cursor")
            if not cursor:
                break
        assert seen == list(range(1, 201)), seen
        resources = (await client.list_resources()).resources
        read = await client.read_resource(str(resources[0].uri))
        assert "[Message 1 of trip" in read.contents[0].text, read
        prompt = await client.get_prompt("recall", {"question": "Which platform?"})
        assert "platform 9" in prompt.messages[0].content.text, prompt


async def main():
    done = []
    for name, server in [("stdio", STDIO), ("HTTP", URL)]:
        for mode in ["auto", "legacy", "2026-07-28"]:
            await use(server, mode)
            done.append(f"{name} {mode}")
    print("python client: " + ", ".join(done))


asyncio.run(main())
