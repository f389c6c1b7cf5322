//! The file-style memory tool, in the words of Anthropic's own implementation.

use serde_json::json;

use crate::support::{Client, Store, everything};

#[tokio::test]
async fn memory_files_answer_as_anthropics_models_expect() {
    let store = Store::new();
    let memory = store.memory();
    let client = Client::new(&memory, everything()).await;
    let said = async |arguments| client.said("memory", arguments).await;
    assert_eq!(
        said(json!({"command": "view", "path": "/memories"})).await,
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and \
         node_modules:\n0B\t/memories"
    );
    let text = "First\nSecond\nThird\nFourth\nFifth\n";
    let create = json!({"command": "create", "path": "/memories/a.md", "file_text": text});
    assert_eq!(said(create.clone()).await, "File created successfully at: /memories/a.md");
    assert_eq!(client.refused("memory", create).await, "File /memories/a.md already exists");
    assert_eq!(
        said(json!({"command": "view", "path": "/memories/a.md"})).await,
        "Here's the content of /memories/a.md with line numbers:\n     1\tFirst\n     2\tSecond\n     3\tThird\n     \
         4\tFourth\n     5\tFifth\n     6\t"
    );
    assert_eq!(
        said(json!({"command": "view", "path": "/memories/a.md", "view_range": [2, 3]})).await,
        "Here's the content of /memories/a.md with line numbers:\n     2\tSecond\n     3\tThird"
    );
    assert_eq!(
        said(json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "Third", "new_str": "3rd"})).await,
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tFirst\n     \
         2\tSecond\n     3\t3rd\n     4\tFourth\n     5\tFifth"
    );
    assert_eq!(
        client
            .refused(
                "memory",
                json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "Third",
                                         "new_str": "x"})
            )
            .await,
        "No replacement was performed, old_str `Third` did not appear verbatim in /memories/a.md."
    );
    assert_eq!(
        client
            .refused(
                "memory",
                json!({"command": "str_replace", "path": "/memories/a.md", "old_str": "F",
                                         "new_str": "x"})
            )
            .await,
        "No replacement was performed. Multiple occurrences of old_str `F` in lines: 1, 4, 5. Please ensure it is unique"
    );
    let insert =
        |line| json!({"command": "insert", "path": "/memories/a.md", "insert_line": line, "insert_text": "0th\n"});
    assert_eq!(said(insert(0)).await, "The file /memories/a.md has been edited.");
    assert_eq!(
        client.refused("memory", insert(9)).await,
        "Invalid `insert_line` parameter: 9. It should be within the range [0, 6]."
    );
    let rename = json!({"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/d/e/b.md"});
    assert_eq!(said(rename.clone()).await, "Successfully renamed /memories/a.md to /memories/d/e/b.md");
    assert_eq!(client.refused("memory", rename).await, "The destination /memories/d/e/b.md already exists");
    assert_eq!(
        said(json!({"command": "view", "path": "/memories"})).await,
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and \
         node_modules:\n34B\t/memories\n34B\t/memories/d/\n34B\t/memories/d/e/"
    );
    assert_eq!(
        said(json!({"command": "view", "path": "/memories/d/e/b.md", "view_range": [1, -1]})).await,
        "Here's the content of /memories/d/e/b.md with line numbers:\n     1\t0th\n     2\tFirst\n     3\tSecond\n     \
         4\t3rd\n     5\tFourth\n     6\tFifth\n     7\t"
    );
    assert_eq!(
        client.refused("memory", json!({"command": "delete", "path": "/memories"})).await,
        "Cannot delete the /memories directory itself"
    );
    assert_eq!(said(json!({"command": "delete", "path": "/memories/d"})).await, "Successfully deleted /memories/d");
    assert_eq!(
        client.refused("memory", json!({"command": "view", "path": "/memories/d/e/b.md"})).await,
        "The path /memories/d/e/b.md does not exist. Please provide a valid path."
    );
    assert_eq!(
        client.refused("memory", json!({"command": "delete", "path": "/memories/d"})).await,
        "The path /memories/d does not exist"
    );
}

#[tokio::test]
async fn no_path_leads_out_of_the_memory_files() {
    let store = Store::new();
    let memory = store.memory();
    let client = Client::new(&memory, everything()).await;
    for path in [
        "/etc/passwd",
        "/memories/../../etc/passwd",
        "/memories/a/../../b",
        "memories",
        "/memories\\..\\x",
        "/memories/a\u{0}b",
        "/memories/\u{202e}x",
        "",
    ] {
        for command in ["view", "create", "delete", "str_replace", "insert"] {
            let arguments = json!({"command": command, "path": path, "file_text": "x", "old_str": "x", "insert_line": 0,
                                   "insert_text": "x"});
            let refused = client.refused("memory", arguments).await;
            assert!(refused.contains("Path ") || refused.starts_with("Path"), "{command} {path:?}: {refused}");
        }
        let rename = json!({"command": "rename", "old_path": "/memories/a", "new_path": path});
        client.refused("memory", rename).await;
    }
    // A file is no directory, and a directory no file.
    client.said("memory", json!({"command": "create", "path": "/memories/f", "file_text": ""})).await;
    let below = client.refused("memory", json!({"command": "create", "path": "/memories/f/g", "file_text": ""})).await;
    assert_eq!(below, "The path /memories/f is not a directory.");
    client.said("memory", json!({"command": "create", "path": "/memories/d/g", "file_text": ""})).await;
    let directory = json!({"command": "create", "path": "/memories/d", "file_text": ""});
    assert_eq!(client.refused("memory", directory).await, "File /memories/d already exists");
    let into = json!({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/x/y"});
    assert_eq!(client.refused("memory", into).await, "The directory /memories/d cannot be moved into itself");
}
